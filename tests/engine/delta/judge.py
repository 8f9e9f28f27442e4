"""Is the change right? Old rows plus change must be the new rows, both as Spark itself computes them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Change, Context, InputViews, Parts, Published, Tallies, Version, Views
from airflow_trickle.engine.delta.program import change_of
from airflow_trickle.engine.delta.ranges import Ranges, ranges_of_rows
from airflow_trickle.engine.delta.subviews import numbered_parts
from airflow_trickle.engine.kept import ROOT
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.spark.active import activated
from tests.engine.delta.golden import Table

_NESTED = (ArrayType, StructType)
_TYPES: dict[str, DataType] = {
    "INT": IntegerType(),
    "BIGINT": LongType(),
    "STRING": StringType(),
    "DECIMAL(10,2)": DecimalType(10, 2),
    "DECIMAL(15,2)": DecimalType(15, 2),
    "DOUBLE": DoubleType(),
    "ARRAY<STRING>": ArrayType(StringType()),
    "STRUCT<k: INT, v: INT>": StructType([StructField("k", IntegerType()), StructField("v", IntegerType())]),
}
Row = tuple[Any, ...]
Rows = dict[str, list[Row]]


@dataclass
class Case:
    """One query, and the rows of its tables before and after."""

    query: str
    types: dict[str, StructType]
    before: Rows
    after: Rows
    #: The SQL of the change, for whoever has to look.
    sql: str | None = None
    steps: list[str] = field(default_factory=list)
    #: Whether auxiliary state was used.
    kept: bool = False
    #: Whether the query gives the same rows before and after.
    unmoved: bool = False
    #: By view of a state: the ranges of its rows.
    ranges: dict[str, dict[str, Ranges]] = field(default_factory=dict)
    #: The states of its tables, where somebody has loaded them.
    states: dict[str, Views] | None = None


class NotAQuery(Exception):
    """Spark itself does not take the query."""


def change(spark: Any, case: Case, *, kept: bool = False, tidy: bool = False) -> tuple[Counter[Row], Counter[Row]]:
    """The rows that old rows and change give, and those that they should give.

    ``kept``: with lines that are kept beside the table, if the query can have such; what they are afterwards is
    compared with what they would be if they were made anew. ``tidy``: drop the views, which takes its time; else they
    go with the session.

    Raises:
        NotInBlocks: the query cannot be refreshed from changes.
        NotAQuery: there is no such query.
    """
    views: list[str] = []
    try:
        with activated(spark):
            return _change(spark, case, views, kept=kept)
    finally:
        for view in views if tidy else ():
            spark.catalog.dropTempView(view)


def _change(spark: Any, case: Case, views: list[str], *, kept: bool) -> tuple[Counter[Row], Counter[Row]]:
    query = parse_query(case.query)
    assert query.problems == (), query.problems
    states = case.states or {name: _states(spark, case, name, views) for name in case.types}
    old, new = (_over(query, states, version) for version in (Version.OLD, Version.NEW))
    try:
        # Both in one job.
        both = spark.sql(f"SELECT 0 AS __after, * FROM ({old}) UNION ALL SELECT 1, * FROM ({new})")
        rows, schema = both.collect(), StructType(both.schema.fields[1:])
    except PySparkException as error:
        raise NotAQuery from error
    before = [tuple(row)[1:] for row in rows if row[0] == 0]
    view = _view(spark, f"p{id(case)}", before, schema, views)
    types = tuple(column.dataType.simpleString() for column in schema.fields)
    published = Published(view, tuple(column.name for column in schema.fields), types)
    tallies, parts = Tallies(), Parts({})
    if kept:
        made = _lines(spark, case, published, _turned(spark, case, states, views), views)
        tallies.lines = made.pop(ROOT, None)
        parts = Parts({}, made)
    bench, found_change = _found(spark, case, published, states, tallies, views, parts)
    case.sql = found_change.sql if found_change is not None else None
    found = Counter(_hashable(row) for row in before)
    if case.sql is not None:
        for row in bench.frame(case.sql).collect():
            found[_hashable(row[:-1])] += row[-1]
    wanted = Counter(_hashable(tuple(row)[1:]) for row in rows if row[0] == 1)
    case.unmoved = wanted == Counter(_hashable(row) for row in before)
    every = {ROOT: tallies, **parts.tallies}
    case.kept = any(one.lines is not None and (one.unchanged or one.folded is not None) for one in every.values())
    used = {number: one.folded for number, one in every.items() if one.folded is not None}
    if used:
        shrinking = {name: replace(one, grows=False) for name, one in states.items()}
        anew = _lines(spark, case, published, shrinking, views)
        for number, sql in used.items():
            assert _bag(bench.frame(sql)) == _bag(spark.table(anew[number])), (number, case)
    return Counter({row: count for row, count in found.items() if count}), wanted


def _found(
    spark: Any,
    case: Case,
    published: Published,
    states: dict[str, Views],
    tallies: Tallies,
    views: list[str],
    parts: Parts,
) -> tuple[SparkBench, Change | None]:
    query = parse_query(case.query)
    blocks, parsed = blocks_of(case.query)
    bench = SparkBench(spark, views, lambda name, about, sql: case.steps.append(f"{name}: {about}: {sql}"))
    for one in states.values():
        for view in {one.old, one.new, one.delta} - {None}:
            bench.know_ranges(view, case.ranges[view])
    tables = {ref.start: InputViews(states[ref.name.lower()], ref.alias) for ref in query.references}
    parts.numbers = numbered_parts(blocks, parsed)
    return bench, change_of(Context(blocks, tables, bench, tallies=tallies, parts=parts), parsed, published)


def _turned(spark: Any, case: Case, states: dict[str, Views], views: list[str]) -> dict[str, Views]:
    """The change back: from the new rows to the old ones."""
    found = {}
    for name, one in states.items():
        delta = None
        if one.delta is not None:
            delta = f"{one.delta}_back"
            spark.table(one.delta).withColumn(WEIGHT, -F.col(WEIGHT)).createOrReplaceTempView(delta)
            views.append(delta)
            case.ranges[delta] = case.ranges[one.delta]
        found[name] = Views(one.new, one.old, delta, types=one.types)
    return found


def _lines(spark: Any, case: Case, published: Published, states: dict[str, Views], views: list[str]) -> dict[int, str]:
    """By the number of the part: a view of its auxiliary state over the new rows of some states."""
    tallies, parts = Tallies(wanted=True), Parts({}, wanted=True)
    bench, _ = _found(spark, case, published, states, tallies, views, parts)
    every = {ROOT: tallies, **parts.tallies}
    return {number: bench.view(one.whole, "all lines") for number, one in every.items() if one.whole is not None}


def _bag(frame: Any) -> Counter[Row]:
    return Counter(_hashable(row) for row in frame.collect())


def _over(query: Any, states: dict[str, Views], version: Version) -> str:
    text = query.text
    for ref in sorted(query.references, key=lambda ref: -ref.start):
        alias = f" AS {ref.alias}" if ref.alias else ""
        text = text[: ref.start] + states[ref.name.lower()].name(version) + alias + text[ref.end :]
    return str(text)


def _states(spark: Any, case: Case, name: str, views: list[str]) -> Views:
    rows = case.before[name], case.after[name]
    found, ranges = load_states(spark, f"{name}_{id(case)}", case.types[name], *rows, views=views)
    case.ranges.update(ranges)
    return found


def load_states(
    spark: Any, name: str, schema: StructType, before: list[Row], after: list[Row], *, views: list[str] | None = None
) -> tuple[Views, dict[str, dict[str, Ranges]]]:
    """Views of the rows before, after and of the change, and by view the ranges of its rows."""
    views = [] if views is None else views
    old, new, delta = (f"{name}_{state}" for state in ("old", "new", "delta"))
    ranges = {}
    for view, rows in ((old, before), (new, after)):
        _view(spark, view, rows, schema, views)
        ranges[view] = _ranges(rows, schema)
    net = Counter(_hashable(row) for row in after)
    net.subtract(_hashable(row) for row in before)
    originals = {_hashable(row): row for row in (*before, *after)}
    changes = [(*originals[row], count) for row, count in net.items() if count]
    types = {column.name.lower(): column.dataType.simpleString() for column in schema.fields}
    if not changes:
        return Views(new, new, None, types=types), ranges
    weighted = StructType([*schema.fields, StructField(WEIGHT, LongType())])
    _view(spark, delta, changes, weighted, views)
    ranges[delta] = _ranges(changes, schema)
    return Views(old, new, delta, grows=all(row[-1] > 0 for row in changes), types=types), ranges


def schema_of(table: Table) -> StructType:
    """The columns of an input of golden cases."""
    return StructType([StructField(name, _TYPES[kind]) for name, kind in table.columns.items()])


def _ranges(rows: list[Any], schema: StructType) -> dict[str, Ranges]:
    """Between which values the columns of some rows lie, found here: a job for each state would take longer."""
    plain = [(at, column) for at, column in enumerate(schema.fields) if not isinstance(column.dataType, _NESTED)]
    arrays = [pa.array([row[at] for row in rows], to_arrow_type(column.dataType)) for at, column in plain]
    return ranges_of_rows(pa.table(arrays, names=[column.name for _, column in plain]))


def _hashable(row: Any) -> Row:
    return tuple(
        tuple(value) if isinstance(value, list) else tuple(value.values()) if isinstance(value, dict) else value
        for value in row
    )


def _view(spark: Any, name: str, rows: list[Any], schema: StructType, views: list[str]) -> str:
    lists = [isinstance(column.dataType, ArrayType) for column in schema.fields]
    plain = [
        tuple(list(v) if is_list and v is not None else v for v, is_list in zip(row, lists, strict=False))
        for row in rows
    ]
    spark.createDataFrame(plain, schema).createOrReplaceTempView(name)
    views.append(name)
    return name


def random_rows(random: Random, values: list[list[Any]], count: int) -> list[Row]:
    """Rows of few values, so that there are duplicates, partners and empty groups."""
    return [tuple(random.choice(column) for column in values) for _ in range(count)]


def changed(random: Random, rows: list[Row], values: list[list[Any]]) -> list[Row]:
    """Some rows go, some come, some are updated; sometimes all go, sometimes nothing happens."""
    kind = random.randrange(10)
    if kind == 0:
        return list(rows)
    if kind == 1:
        return []
    kept = [row for row in rows if random.random() < 0.75]
    if kind in (2, 3):
        kept = list(rows)  # nothing goes
    return kept + random_rows(random, values, random.randrange(4))
