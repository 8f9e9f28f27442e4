"""Judges delta rules on DuckDB: rows before plus change must be what the query itself gives afterwards."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

from airflow_trickle.algebra.references import ParsedQuery, parse_query
from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.layout import laid_out
from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.delta.context import Change, Context, InputViews, Parts, Published, Tallies, Version, Views
from airflow_trickle.engine.delta.explaining import Names
from airflow_trickle.engine.delta.program import change_of
from airflow_trickle.engine.delta.ranges import ranges_of_rows
from airflow_trickle.engine.delta.subviews import numbered_parts
from airflow_trickle.engine.kept import ROOT
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.identifiers import quote
from tests.engine.delta.duckdb_executor import ChangeNotOnDuckDB, DuckDBExecutor, NotOnDuckDB
from tests.engine.delta.golden import GoldenCase, Table, refusal, tables

Row = tuple[Any, ...]
Rows = dict[str, list[Row]]

#: What a column may hold: few values, so that there are duplicates, partners and empty groups.
_VALUES: dict[str, list[Any]] = {
    "INT": [None, 0, 1, 2, 3, 5],
    "BIGINT": [None, 5, 2**62, -(2**61)],
    "STRING": [None, "x", "y", "X"],
    "DECIMAL(10,2)": [None, Decimal("1.50"), Decimal("2.00"), Decimal("-3.25")],
    "DECIMAL(15,2)": [None, Decimal("1.10"), Decimal("2.05")],
    "DOUBLE": [None, 0.1, 0.2, 1e17, -1e17],
    "ARRAY<STRING>": [None, [], ["x"], ["x", "y", "x"]],
    "STRUCT<k: INT, v: INT>": [{"k": 9, "v": 9}, {"k": 1, "v": 0}],
}
#: By column, where its type alone would be too tame.
_SPECIAL: dict[str, list[Any]] = {
    "a.v": [None, 0, 1, 5],
    "t.k": [None, 1, 2, 3],
    "t.g": [None, "a", "b"],
    "t.v": [None, Decimal("0.01"), Decimal("-99999999.99"), Decimal("33.33")],
    "t.i": [None, -(2**31), 7],
    "u.k": [None, 1, 2, 3],
}
#: By type of a column in Spark's words: the one in Arrow.
ARROW_TYPES: dict[str, pa.DataType] = {
    "BINARY": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "FLOAT": pa.float32(),
    "DECIMAL(30,0)": pa.decimal128(30, 0),
    "DECIMAL(38,0)": pa.decimal128(38, 0),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "ARRAY<INT>": pa.list_(pa.int32()),
    "STRUCT<p: INT, q: STRING>": pa.struct([("p", pa.int32()), ("q", pa.string())]),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "STRING": pa.string(),
    "DECIMAL(10,2)": pa.decimal128(10, 2),
    "DECIMAL(15,2)": pa.decimal128(15, 2),
    "DOUBLE": pa.float64(),
    "ARRAY<STRING>": pa.list_(pa.string()),
    "STRUCT<k: INT, v: INT>": pa.struct([("k", pa.int32()), ("v", pa.int32())]),
}


@dataclass(frozen=True)
class Verdict:
    """What rows and change give, what they should give, and how the change was computed."""

    found: Counter[Row]
    wanted: Counter[Row]
    sql: str | None
    #: What was computed on the way.
    steps: tuple[str, ...]
    #: The state after the refresh, as refreshed and as computed anew; None if none was used.
    state: tuple[Counter[Row], Counter[Row]] | None = None


def random_rows(random: Random, table: Table, count: int) -> list[Row]:
    """Rows of a table."""
    columns = [_SPECIAL.get(f"{table.name}.{name}", _VALUES[kind]) for name, kind in table.columns.items()]
    return [tuple(random.choice(values) for values in columns) for _ in range(count)]


def changed_rows(random: Random, table: Table, rows: list[Row], *, grows: bool) -> list[Row]:
    """Some rows go, some come, some are updated; sometimes all go. With ``grows`` they only come."""
    came = random_rows(random, table, random.randrange(1, 5))
    if grows:
        return [*rows, *came]
    if random.randrange(8) == 0:
        return []
    return [row for row in rows if random.random() < 0.75] + came


class DuckDBJudge:
    """Runs golden cases; one connection serves many of them."""

    def __init__(self, inputs: Mapping[str, Table] | None = None) -> None:
        self._tables = inputs or tables()
        # One thread: the rows are few, and a sum of doubles is then the same each time.
        self._connection = duckdb.connect(config={"threads": 1})
        self._has_begun = False

    def random_states(self, case: GoldenCase, random: Random) -> Iterable[tuple[Rows, Rows]]:
        """The inputs of a case before and after a change, again and again, each from where the last one ended."""
        names = sorted({ref.name.lower() for ref in parse_query(case.query).references})
        before = {name: random_rows(random, self._tables[name], random.randrange(9)) for name in names}
        while True:
            after = {
                name: changed_rows(random, self._tables[name], rows, grows=case.changed[name])
                if name in case.changed
                else rows
                for name, rows in before.items()
            }
            yield before, after
            before = after

    def judge(
        self, text: str, before: Rows, after: Rows, *, state: bool = False, of_parts_alone: bool = False
    ) -> Verdict:
        """Refreshes a query from one change, with auxiliary state if that is asked for, and computes it anew.

        ``of_parts_alone``: the outermost operation has none, as long as it can be added to what is published.
        """
        query, executor = _parsed(text), self._executor()
        states = {name: self._states(executor, name, before[name], after[name]) for name in before}
        published = self._publish(executor, query, states)
        was = executor.rows(f"SELECT * FROM {published.rows}")
        wanted = executor.rows(_over(query, states, Version.NEW))
        tallies, parts = Tallies(), None
        if state:
            back = {name: _turned(executor, one) for name, one in states.items()}
            made = self._state(executor, query, back, published, "state_before")
            tallies.lines = "state_before" if ROOT in made and not of_parts_alone else None
            parts = Parts({}, {number: f"state_before_{number}" for number in made if number != ROOT})
        found = _bag(was)
        try:
            change = _change(executor, query, states, published, tallies, parts)
            for row in executor.rows(change.sql) if change is not None else ():
                found[_hashable(row[: len(published.columns)])] += row[len(published.columns)]
        except NotOnDuckDB as error:
            raise ChangeNotOnDuckDB(str(error)) from error
        every = {ROOT: tallies, **(parts.tallies if parts is not None else {})}
        kept = self._refreshed(executor, query, states, published, every)
        steps = tuple(f"{step.name}: {step.about}: {step.sql}" for step in executor.steps)
        there = Counter({row: count for row, count in found.items() if count})
        return Verdict(there, _bag(wanted), change.sql if change is not None else None, steps, kept)

    def _refreshed(
        self,
        executor: DuckDBExecutor,
        query: ParsedQuery,
        states: dict[str, Views],
        published: Published,
        tallies: Mapping[int, Tallies],
    ) -> tuple[Counter[Row], Counter[Row]] | None:
        """The states after a refresh, and the same computed anew; None if no state was used."""
        same = {number: f"SELECT * FROM {one.lines}" for number, one in tallies.items() if one.lines and one.unchanged}
        used = same | {number: one.folded for number, one in tallies.items() if one.folded is not None}
        if not used:
            return None
        made = self._state(executor, query, states, published, "state_after")
        refreshed, anew = Counter[Row](), Counter[Row]()
        for number, sql in used.items():
            if number in same and number not in made:
                continue  # by their ranges, no changed rows meet others: then there is no reason to make state either
            columns = ", ".join(quote(column.name) for column in executor.columns(sql))
            view = "state_after" if number == ROOT else f"state_after_{number}"
            refreshed.update(_bag((number, *row) for row in executor.rows(sql)))
            anew.update(_bag((number, *row) for row in executor.rows(f"SELECT {columns} FROM {view}")))
        return refreshed, anew

    def rows_of_step(self, step: str) -> list[Row]:
        """The rows of a step of the latest verdict, in order."""
        return self._connection.execute(f'SELECT * FROM "{step.partition(":")[0]}" ORDER BY ALL').fetchall()

    def explain(self, case: GoldenCase) -> str:
        """The SQL by which a change of a case is computed, as its file shows it."""
        query = _parsed(case.query)
        executor = self._executor(Names(case.query))
        assert executor.names is not None
        names = sorted({ref.name.lower() for ref in query.references})
        states = {name: self._named_states(executor, name, case) for name in names}
        large = [states[name] for name in case.large]
        executor.large = frozenset(view for one in large for view in (one.old, one.new))
        published = self._publish(executor, query, states, executor.names.give("published"))
        shown, tallies, parts = list[tuple[str, str]](), Tallies(), None
        if case.state:
            name = executor.names.give("state")
            made = self._state(executor, query, states, published, name)
            if not made:
                return "-- expect no state"
            tallies.lines = name if ROOT in made else None
            parts = Parts({}, {number: f"{name}_{number}" for number in made if number != ROOT})
            for number, sql in made.items():
                about = "state, kept beside the table" if number == ROOT else f"{name}_{number}, kept of a part"
                shown.append((about, executor.names.shown(sql)))
            executor.steps.clear()
        change = _change(executor, query, states, published, tallies, parts)
        shown += [
            (f"{step.name}, {'computed once' if step.kept else 'a view'}: {step.about}", step.sql)
            for step in executor.steps
        ]
        if change is None:
            return "\n".join([*(_section(*one) for one in shown), "-- expect no change"])
        executor.columns(change.sql)  # it is accepted
        return "\n".join(_section(*one) for one in [*shown, ("change", executor.names.shown(change.sql))])

    def _executor(self, names: Names | None = None) -> DuckDBExecutor:
        # Nothing of one case is there for the next: a rule that reads what it should not finds no such table.
        self._connection.execute("ROLLBACK; BEGIN" if self._has_begun else "BEGIN")
        self._has_begun = True
        return DuckDBExecutor(self._connection, names)

    def _states(self, executor: DuckDBExecutor, name: str, before: list[Row], after: list[Row]) -> Views:
        table = self._tables[name]
        types = {column.lower(): kind.lower() for column, kind in table.columns.items()}
        self._load(executor, table, f"{name}_after", after)
        net: Counter[Row] = Counter(_hashable(row) for row in after)
        net.subtract(_hashable(row) for row in before)
        if not any(net.values()):
            return Views(f"{name}_after", f"{name}_after", None, types=types)
        self._load(executor, table, f"{name}_before", before)
        originals = {_hashable(row): row for row in (*before, *after)}
        changes = [(*originals[row], count) for row, count in net.items() if count]
        self._load(executor, table, f"{name}_changes", changes, weighted=True)
        grows = all(row[-1] > 0 for row in changes)
        return Views(f"{name}_before", f"{name}_after", f"{name}_changes", grows=grows, types=types)

    def _named_states(self, executor: DuckDBExecutor, name: str, case: GoldenCase) -> Views:
        table = self._tables[name]
        assert executor.names is not None
        types = {column.lower(): kind.lower() for column, kind in table.columns.items()}
        after = self._load(executor, table, executor.names.give(f"{name}_after"), [])
        if name not in case.changed:
            return Views(after, after, None, types=types)
        before = self._load(executor, table, executor.names.give(f"{name}_before"), [])
        changes = self._load(executor, table, executor.names.give(f"{name}_changes"), [], weighted=True)
        return Views(before, after, changes, grows=case.changed[name], types=types)

    def _load(
        self, executor: DuckDBExecutor, table: Table, view: str, rows: list[Row], *, weighted: bool = False
    ) -> str:
        fields = [(name, ARROW_TYPES[kind]) for name, kind in table.columns.items()]
        schema = pa.schema([*fields, (WEIGHT, pa.int64())] if weighted else fields)
        columns = [[row[at] for row in rows] for at in range(len(schema))]
        arrow = pa.table([pa.array(values, one.type) for values, one in zip(columns, schema, strict=True)], schema)
        self._connection.register("loaded", arrow)
        executor.run(f'CREATE TEMP TABLE "{view}" AS SELECT * FROM loaded')
        self._connection.unregister("loaded")
        if rows:
            plain = [name for name, kind in fields if not pa.types.is_nested(kind)]
            executor.know_ranges(view, ranges_of_rows(arrow.select(plain)))
        return view

    def _publish(
        self, executor: DuckDBExecutor, query: ParsedQuery, states: dict[str, Views], name: str = "published"
    ) -> Published:
        sql = _over(query, states, Version.OLD)
        columns = executor.columns(sql)
        executor.run(f'CREATE TEMP TABLE "{name}" AS {executor.translated(sql)}')
        return Published(name, tuple(one.name for one in columns), tuple(one.type for one in columns))

    def _state(
        self, executor: DuckDBExecutor, query: ParsedQuery, states: dict[str, Views], published: Published, name: str
    ) -> dict[int, str]:
        """Computes the auxiliary states over the new rows of some states, and tells their SQL by number of the part."""
        tallies, parts = Tallies(wanted=True), Parts({}, wanted=True)
        shrinking = {key: _shrinking(one) for key, one in states.items()}
        _change(executor, query, shrinking, published, tallies, parts)
        made = {}
        for number, one in {ROOT: tallies, **parts.tallies}.items():
            if one.whole is not None:
                view = name if number == ROOT else f"{name}_{number}"
                executor.run(f'CREATE TEMP TABLE "{view}" AS {executor.translated(one.whole)}')
                made[number] = one.whole
        return made


def explained(judge: DuckDBJudge, case: GoldenCase) -> str:
    """What the file of a case is to expect: the SQL of its change, or why there is none."""
    try:
        return judge.explain(case)
    except NotInBlocks as error:
        return refusal(error.why)


def _shrinking(views: Views) -> Views:
    """State is made when rows may have gone."""
    return Views(views.old, views.new, views.delta, types=views.types)


def _turned(executor: DuckDBExecutor, views: Views) -> Views:
    """The change back: from the new rows to the old ones."""
    if views.delta is None:
        return Views(views.new, views.old, None, types=views.types)
    delta = f"{views.delta}_back"
    executor.run(f'CREATE TEMP TABLE "{delta}" AS SELECT * REPLACE (-{WEIGHT} AS {WEIGHT}) FROM "{views.delta}"')
    executor.know_ranges(delta, executor.ranges(views.delta))
    return Views(views.new, views.old, delta, types=views.types)


def _parsed(text: str) -> ParsedQuery:
    query = parse_query(text)
    assert query.problems == (), query.problems
    return query


def _change(
    executor: DuckDBExecutor,
    query: ParsedQuery,
    states: dict[str, Views],
    published: Published,
    tallies: Tallies,
    parts: Parts | None = None,
) -> Change | None:
    blocks, parsed = blocks_of(query.text, recursion=True)
    inputs = {ref.start: InputViews(states[ref.name.lower()], ref.alias) for ref in query.references}
    if parts is not None:
        parts.numbers = numbered_parts(blocks, parsed)
    return change_of(Context(blocks, inputs, executor, tallies=tallies, parts=parts), parsed, published)


def _over(query: ParsedQuery, states: dict[str, Views], version: Version) -> str:
    """The query as the user wrote it, over one state of its inputs."""
    text = query.text
    for ref in sorted(query.references, key=lambda ref: -ref.start):
        alias = f" AS {ref.alias}" if ref.alias else ""
        text = text[: ref.start] + states[ref.name.lower()].name(version) + alias + text[ref.end :]
    return text


def _section(about: str, sql: str) -> str:
    return f"-- expect {about}\n{laid_out(sql)};"


def _bag(rows: Iterable[Row]) -> Counter[Row]:
    return Counter(_hashable(row) for row in rows)


def _hashable(row: Row) -> Row:
    return tuple(_plain(value) for value in row)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_plain(one) for one in value)
    if isinstance(value, dict):
        return tuple((key, _plain(one)) for key, one in value.items())
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    # DuckDB averages decimals as doubles, Spark does not; that the last digit is right is judged there.
    return float(f"{value:.12g}") if isinstance(value, float) else value
