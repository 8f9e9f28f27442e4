"""Random names that fold alike, or hold signs of SQL, for columns, aliases and CTEs: the change is that of other names.

The names of one query are all different to Spark. Which of them a text means is then beyond doubt, and whoever compares
them otherwise than Spark reads the wrong column.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.modes import obstacles_of_query
from airflow_trickle.identifiers import quote
from tests import budgets
from tests.budgets import budget
from tests.engine.delta.duckdb_judge import DuckDBJudge
from tests.engine.delta.golden import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Names that are one name to somebody: to case folding, to who strips quotes, to who splits at signs.
_ALIKE = (
    ("mass", "maß", "ma\u1e9e", "mas\u017f"),
    ("\u0131", "i", "i\u0307"),
    ("\u03c2", "\u03c3"),
    ("e\u0301", "é", "e"),
    ("ﬀ", "ff"),
    ("a`b", "`a", "a`", "ab"),
    ("a.b", "a", "b"),
    ("x y", "x(y", "x)", "x,y", "[x]"),
    ("select", "from", "group by", "as", "on"),
    ("a--b", "a/*b", "'a'", '"a"', "1", "*"),
)
_TEMPLATES = (
    "SELECT {l}.{id} AS {o1}, {r}.{id} AS {o2} FROM t AS {l} JOIN u AS {r} ON {l}.{k} = {r}.{k}",
    "SELECT {l}.{id} AS {o1}, {r}.{m} AS {o2} FROM t AS {l} LEFT JOIN u AS {r} ON {l}.{m} = {r}.{m}",
    "SELECT {l}.{id} AS {o1} FROM t AS {l} WHERE EXISTS (SELECT 1 FROM u AS {r} WHERE {r}.{m} = {l}.{m})",
    "SELECT {l}.{id} AS {o1} FROM t AS {l} WHERE {l}.{k} NOT IN (SELECT {r}.{m} FROM u AS {r})",
    "SELECT {k}, {m}, count(*) AS {o1}, max({id}) AS {o2} FROM t GROUP BY {k}, {m}",
    "SELECT {m} AS {o1}, sum({id}) AS {o2} FROM t GROUP BY {o1}",
    "SELECT {k} AS {o1}, count(*) OVER (PARTITION BY {m}) AS {o2} FROM t",
    "WITH {l} AS (SELECT {k}, {id} FROM t), {r} AS (SELECT {m}, {id} FROM u) "
    "SELECT {l}.{k} AS {o1}, {r}.{m} AS {o2} FROM {l} JOIN {r} ON {l}.{id} = {r}.{id}",
    "SELECT DISTINCT {l}.{k} AS {o1}, {l}.{m} AS {o2} FROM (SELECT * FROM t WHERE {id} > 0) AS {l}",
    "SELECT {l}.* FROM t AS {l} LEFT ANTI JOIN u AS {r} USING ({k})",
    "SELECT {k} AS {o1} FROM t UNION SELECT {m} AS {o2} FROM u",
)


@dataclass(frozen=True)
class Named:
    """A query, and what the columns of its tables are called."""

    query: str
    columns: tuple[str, ...]


def named(template: str, names: list[str]) -> Named:
    """A template with names for its three columns, two relations and two results."""
    places = dict(zip(("id", "k", "m", "l", "r", "o1", "o2"), names, strict=True))
    return Named(template.format(**{place: quote(name) for place, name in places.items()}), tuple(names[:3]))


def _all_names() -> list[str]:
    return [name for alike in _ALIKE for name in alike]


@st.composite
def named_queries(draw: st.DrawFn) -> Named:
    # Most names of one query are alike.
    first = draw(st.sampled_from(_ALIKE))
    rest = draw(st.permutations([name for name in _all_names() if name not in first]))
    # Two of which one is the other in lower case are one name to Spark.
    different = {name.lower(): name for name in (*rest[::-1], *draw(st.permutations(first)))}
    names = list(different.values())[:-8:-1]
    return named(draw(st.sampled_from(_TEMPLATES)), draw(st.permutations(names)))


def rows_of(random: Random) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Rows before and after in which every column has a range of its own: to take one for another loses rows."""

    def some(count: int, at: int) -> list[Any]:
        return [(random.randrange(4), at + random.randrange(3), 1 - at + random.randrange(3)) for _ in range(count)]

    before = {name: some(6, 0) for name in ("t", "u")}
    after = {name: [*rows[random.randrange(2) :], *some(2, random.randrange(3))] for name, rows in before.items()}
    return before, after


def is_followed(query: str) -> bool:
    parsed = parse_query(query)
    assert parsed.problems == (), (query, parsed.problems)
    return obstacles_of_query(parsed) == ()


@given(named_queries(), st.integers(0, 1000))
@budget()
def test_the_change_is_right_whatever_the_names(one: Named, seed: int) -> None:
    assert is_followed(one.query), one.query
    columns = dict.fromkeys(one.columns, "INT")
    judge = DuckDBJudge({name: Table(name, columns) for name in ("t", "u")})
    before, after = rows_of(Random(seed))
    verdict = judge.judge(one.query, before, after, state=bool(seed % 2))
    assert verdict.found == verdict.wanted, (one, before, after, verdict.sql)


@pytest.mark.parametrize("part", range(2))
def test_the_change_is_right_whatever_the_names_on_spark(spark: SparkSession, part: int) -> None:
    from pyspark.sql.types import IntegerType, StructField, StructType

    from tests.engine.delta.judge import Case, change

    for number in range(part, budgets.rounds(2 * len(_TEMPLATES)), 2):
        random = budgets.chance(f"names {number}")
        alike, rest = list(random.choice(_ALIKE)), _all_names()
        random.shuffle(alike)
        random.shuffle(rest)
        names = list({name.lower(): name for name in (*alike, *rest)}.values())[:7]
        one = named(_TEMPLATES[number % len(_TEMPLATES)], random.sample(names, 7))
        schema = StructType([StructField(name, IntegerType()) for name in one.columns])
        before, after = rows_of(random)
        case = Case(one.query, {"t": schema, "u": schema}, before, after)
        found, wanted = change(spark, case, kept=bool(number % 2))
        assert found == wanted, (one, before, after, case.sql)
