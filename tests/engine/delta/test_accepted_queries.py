"""What is accepted as DIFFERENTIAL can be refreshed from changes: the change program of every query of all corpora."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from airflow_trickle.algebra.references import ParsedQuery, parse_query
from airflow_trickle.analysis.modes import is_recursive, obstacles_of_query
from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.delta.context import Context, InputViews, Published, Tallies, Views
from airflow_trickle.engine.delta.explaining import ExplainingBench, Names
from airflow_trickle.engine.delta.program import change_of
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.spark.active import activated
from tests.engine.delta import golden
from tests.engine.delta.duckdb_executor import NotOnDuckDB
from tests.engine.delta.duckdb_judge import ARROW_TYPES, DuckDBJudge
from tests.engine.delta.golden import GoldenCase, Table
from tools.sql_corpora import ADAPTATIONS, corpora

#: Queries of which the types of columns, or their names, tell what the text cannot -> the reason that a refresh says.
BY_TYPE: Mapping[str, str] = {
    "refused a sum of doubles inside a query": "sum() of floating-point numbers inside a query",
    "refused an average of totals of doubles over groups inside a query": "sum() of floating-point numbers inside",
    "refused a sum of doubles in the ORDER BY of a named window": "sum() of floating-point numbers inside a query",
    "refused a column named like the other relation, RIGHT JOIN": "a column has the name of another relation",
    "refused a column named like the other relation, FULL JOIN": "a column has the name of another relation",
    "refused NULL without a type": "is NULL without a type",
}
#: DuckDB divides and averages decimals as doubles, Spark does not.
_DUCKDB_DOUBLES = "of floating-point numbers inside a query may come out otherwise each time"


@dataclass(frozen=True)
class Accepted:
    """A query that `validate` takes as DIFFERENTIAL, and the types of the tables that it reads."""

    name: str
    query: ParsedQuery
    tables: Mapping[str, Mapping[str, str]]


def is_allowed(one: Accepted, why: str) -> bool:
    """Whether a refusal is one that no text tells."""
    return one.name in BY_TYPE and BY_TYPE[one.name] in why


@cache
def accepted() -> tuple[Accepted, ...]:
    return tuple(one for one in _all() if _is_accepted(one.query))


def _all() -> Iterator[Accepted]:
    for corpus in corpora():
        for query in corpus.queries:
            text = query.text
            for one in ADAPTATIONS:
                text = one.pattern.sub(one.replacement, text)
            yield Accepted(f"{corpus.title} {query.name}", parse_query(text), corpus.tables)
    tables = {name: table.columns for name, table in golden.tables().items()}
    for case in golden.cases():
        yield Accepted(f"{case.family} {case.title}", parse_query(case.query), tables)


def _is_accepted(query: ParsedQuery) -> bool:
    return not query.problems and not obstacles_of_query(query) and not is_recursive(query.tree)


class EmptyInputs:
    """Views of tables without rows: before, after, and their change."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._made: dict[tuple[str, str], Views] = {}

    def states(self, name: str, columns: Mapping[str, str], *, grows: bool) -> Views:
        key = (name, ", ".join(f"`{column}` {kind}" for column, kind in columns.items()))
        if key not in self._made:
            self._made[key] = self._make(f"empty_{len(self._made)}", columns)
        return replace(self._made[key], grows=grows)

    def _make(self, name: str, columns: Mapping[str, str]) -> Views:
        shown = ", ".join(f"CAST(NULL AS {kind}) AS `{column}`" for column, kind in columns.items())
        for state, more in (("old", ""), ("new", ""), ("delta", f", 1L AS {WEIGHT}")):
            self._spark.sql(f"SELECT {shown}{more} WHERE false").createOrReplaceTempView(f"{name}_{state}")
        types = {column.lower(): kind.lower().replace(" ", "") for column, kind in columns.items()}
        return Views(f"{name}_old", f"{name}_new", f"{name}_delta", types=types)

    def publish(self, query: ParsedQuery, states: Mapping[str, Views]) -> Published:
        text = query.text
        for ref in sorted(query.references, key=lambda ref: -ref.start):
            alias = f" AS {ref.alias}" if ref.alias else ""
            text = f"{text[: ref.start]}{states[ref.name.lower()].old}{alias}{text[ref.end :]}"
        frame = self._spark.sql(text)
        schema = frame.schema
        names = tuple(f"c{at}" for at in range(len(schema.fields)))
        frame.toDF(*names).createOrReplaceTempView("published")
        types = tuple(column.dataType.simpleString() for column in schema.fields)
        return Published("published", names, types)


def explain(spark: SparkSession, inputs: EmptyInputs, one: Accepted, *, state: bool) -> str | None:
    """Has Spark analyze every part of the change of a query; why it is not refreshed from changes, if it is not."""
    columns = {name.lower(): of for name, of in one.tables.items()}
    names = {ref.name.lower() for ref in one.query.references}
    states = {name: inputs.states(name, columns[name], grows=not state) for name in names}
    with activated(spark):
        try:
            published = inputs.publish(one.query, states)
        except AnalysisException:
            return None  # Spark does not take the query itself
        bench = ExplainingBench(spark, Names(one.query.text), [])
        tables = {ref.start: InputViews(states[ref.name.lower()], ref.alias) for ref in one.query.references}
        try:
            blocks, query = blocks_of(one.query.text, recursion=True)
            found = change_of(Context(blocks, tables, bench, tallies=Tallies(wanted=state)), query, published)
            if found is not None:
                bench.frame(found.sql)
        except NotInBlocks as error:
            return error.why
    return None


# --- without Spark -------------------------------------------------------------------------------


def _judge_of(tables: Mapping[str, Mapping[str, str]]) -> DuckDBJudge:
    """A judge on DuckDB over tables of types that it has; a text stands for others."""
    return DuckDBJudge(
        {name.lower(): Table(name, {c: _known(kind) for c, kind in of.items()}) for name, of in tables.items()}
    )


def _known(kind: str) -> str:
    words = {"INTEGER": "INT"}.get(kind, kind.replace(" ", ""))
    if words.startswith("DECIMAL") and words not in ARROW_TYPES:
        digits, scale = words.removeprefix("DECIMAL(").rstrip(")").split(",")
        ARROW_TYPES[words] = pa.decimal128(int(digits), int(scale))
    return words if words in ARROW_TYPES else "STRING"


def refused_on_duckdb(title: str) -> tuple[dict[str, str], int]:
    """By query of a corpus: why its change program is refused; and how many are not."""
    refused, fine = {}, 0
    for one in accepted():
        if not one.name.startswith(f"{title} "):
            continue
        case = GoldenCase(one.name, one.query.text, {ref.name.lower(): False for ref in one.query.references})
        try:
            judge_of(title, one.tables).explain(case)
            fine += 1
        except NotInBlocks as error:
            if not is_allowed(one, error.why) and not error.why.endswith(_DUCKDB_DOUBLES):
                refused[one.name] = error.why
        except NotOnDuckDB:
            continue  # Spark is asked
    return refused, fine


_JUDGES: dict[str, DuckDBJudge] = {}


def judge_of(title: str, tables: Mapping[str, Mapping[str, str]]) -> DuckDBJudge:
    return _JUDGES.setdefault(title, _judge_of(tables))


@pytest.mark.parametrize(
    ("title", "enough"),
    [
        ("TPC-H", 18),
        pytest.param("TPC-DS", 70, marks=pytest.mark.slow),
        pytest.param("Spark SQL", 190, marks=pytest.mark.slow),
    ],
)
def test_accepted_queries_have_a_change_program_on_duckdb(title: str, enough: int) -> None:
    refused, fine = refused_on_duckdb(title)
    assert refused == {}
    assert fine >= enough


def test_what_only_types_tell_is_still_accepted_by_the_text() -> None:
    assert {one.name for one in accepted()} >= BY_TYPE.keys()


# --- on Spark ------------------------------------------------------------------------------------


def refused_on_spark(spark: SparkSession, titles: tuple[str, ...], *, state: bool) -> dict[str, str]:
    inputs = EmptyInputs(spark)
    chosen = [one for one in accepted() if one.name.startswith(titles)]
    found = {one.name: (one, explain(spark, inputs, one, state=state)) for one in chosen}
    return {name: why for name, (one, why) in found.items() if why is not None and not is_allowed(one, why)}


def test_accepted_queries_of_our_corpus_have_a_change_program_that_spark_takes(spark: SparkSession) -> None:
    assert refused_on_spark(spark, ("Spark SQL", "refused"), state=False) == {}


@pytest.mark.soak
@pytest.mark.parametrize("state", [False, True])
def test_accepted_queries_of_all_corpora_have_a_change_program_that_spark_takes(
    spark: SparkSession, state: bool
) -> None:
    assert refused_on_spark(spark, ("",), state=state) == {}
