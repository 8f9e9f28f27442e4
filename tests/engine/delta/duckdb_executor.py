"""Runs the SQL of delta rules on DuckDB, so that rules can be judged in milliseconds and without Spark.

Rules write Spark SQL. It is translated by sqlglot here; what a rule means does not depend on the engine, so that a
wrong sign, a wrong state or a forgotten NULL is as wrong on DuckDB as on Spark. What only Spark understands is refused
by `NotOnDuckDB`, and such a case is judged by Spark alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from airflow_trickle.engine.delta.context import Column
from airflow_trickle.engine.delta.explaining import Names, Step, name_of_step
from airflow_trickle.engine.delta.ranges import Ranges, ranges_of_rows

#: DuckDB's words for types -> Spark's.
_TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "HUGEINT": "bigint",
    "UBIGINT": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "VARCHAR": "string",
    "BLOB": "binary",
    "DATE": "date",
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    '"NULL"': "void",
}


#: What DuckDB raises for text that it does not take; errors of values (a division by zero) are others.
_NOT_TAKEN = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.InvalidInputException,
    duckdb.InvalidTypeException,
    duckdb.NotImplementedException,
    duckdb.ParserException,
)


class NotOnDuckDB(Exception):
    """DuckDB cannot run this text; let Spark judge the case."""


class ChangeNotOnDuckDB(NotOnDuckDB):
    """DuckDB runs the query, but not the SQL of its change: perhaps no engine does; let Spark judge the case."""


@lru_cache(maxsize=20_000)
def translated(sql: str) -> str:
    """Spark SQL as DuckDB wants it."""
    try:
        tree = sqlglot.parse_one(sql, read="spark")
    except sqlglot.ParseError as error:
        raise NotOnDuckDB(str(error)) from error
    for hint in list(tree.find_all(exp.Hint)):
        hint.pop()
    for cast in list(tree.find_all(exp.TryCast)):
        # sqlglot takes Spark's CAST for the one without ANSI mode, which never fails.
        cast.replace(exp.Cast(this=cast.this, to=cast.args["to"]))
    for counted in list(tree.find_all(exp.CountIf)):
        # DuckDB's own answers NULL where no condition is known.
        true = exp.Case(ifs=[exp.If(this=counted.this, true=exp.Literal.number(1))])
        counted.replace(exp.Count(this=true))
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == "raise_error":
            # DuckDB's own `error` fails like a text that is not taken; this fails like a value that is wrong.
            call.replace(exp.Cast(this=call.expressions[0], to=exp.DataType.build("INT")))
        elif call.name.lower() == "array_repeat":
            call.replace(exp.Anonymous(this="range", expressions=[call.expressions[1]]))  # only its length is used
        elif call.name.lower() == "make_dt_interval":
            call.replace(exp.Anonymous(this="to_seconds", expressions=[call.expressions[3]]))  # the others are 0
    _ranges_translated(tree)
    for select in list(tree.find_all(exp.Select)):
        _unstack(select)
    return tree.sql("duckdb", copy=False)


def _ranges_translated(tree: exp.Expression) -> None:
    """Literals of ranges: texts that are written as bytes, and times that are written as microseconds."""
    for cast in list(tree.find_all(exp.Cast)):
        if isinstance(cast.this, exp.HexString) and cast.to.is_type("TEXT"):
            cast.replace(exp.Literal.string(bytes.fromhex(cast.this.name).decode()))
    for micros in list(tree.find_all(exp.Anonymous)):
        if micros.name.lower() == "timestamp_micros":
            made = exp.Anonymous(this="make_timestamp", expressions=micros.expressions)
            micros.replace(exp.AtTimeZone(this=made, zone=exp.Literal.string("UTC")))


def _unstack(select: exp.Select) -> None:
    """Writes ``stack(2, a, b, c, d) AS (x, y)`` as columns that are unnested side by side."""
    for shown in list(select.expressions):
        if isinstance(shown, exp.Aliases) and isinstance(shown.this, exp.Stack):
            values = shown.this.expressions
            width = len(values) // int(shown.this.this.name)
            columns = [
                exp.alias_(exp.Unnest(expressions=[exp.Array(expressions=values[at::width])]), name.name, quoted=True)
                for at, name in enumerate(shown.expressions)
            ]
            select.set("expressions", [*(one for one in select.expressions if one is not shown), *columns])


def spark_type(words: str) -> str:
    """A type of DuckDB in Spark's words.

    >>> spark_type("INTEGER[]"), spark_type("DECIMAL(10,2)")
    ('array<int>', 'decimal(10,2)')
    """
    if words.endswith("[]"):
        return f"array<{spark_type(words[:-2])}>"
    if words.startswith("STRUCT("):
        fields = (part.strip().split(" ", 1) for part in words.removeprefix("STRUCT(").removesuffix(")").split(","))
        return f"struct<{','.join(f'{name}:{spark_type(kind)}' for name, kind in fields)}>"
    if words == "DECIMAL(38,2)":
        return "decimal(20,2)"  # the sum of a DECIMAL(10,2), which DuckDB makes as wide as it can
    if words.startswith("DECIMAL"):
        return words.lower()
    if words in _TYPES:
        return _TYPES[words]
    raise NotOnDuckDB(f"a value of type {words}")


@dataclass
class DuckDBExecutor:
    """Computes the parts of a change on DuckDB.

    With ``names`` nothing is computed: every part is taken to have rows, and gets a name that people can read.
    """

    connection: duckdb.DuckDBPyConnection
    names: Names | None = None
    steps: list[Step] = field(default_factory=list)
    _ranges: dict[str, Mapping[str, Ranges]] = field(default_factory=dict)
    _rows: dict[str, pa.Table] = field(default_factory=dict)
    _columns: dict[str, list[Column]] = field(default_factory=dict)
    _count: int = 0

    small = True
    #: Views that pass for large ones; None: all.
    large: frozenset[str] | None = None

    def is_large(self, view: str) -> bool:
        """Whether a view is to be cut to the rows that changed rows may meet."""
        return self.large is None or view in self.large

    def view(self, sql: str, about: str) -> str:
        """Names a query; nothing is computed."""
        name = self._step(sql, about, kept=False)
        self.run(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {self.translated(sql)}')
        return name

    def keep(self, sql: str, about: str) -> str | None:
        """Computes a query once and names the result; None if it has no rows."""
        name = self._step(sql, about, kept=True)
        self.run(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {self.translated(sql)}')
        if self.names is not None:
            return name
        rows = self.run(f'SELECT * FROM "{name}"').to_arrow_table()
        if rows.num_rows == 0:
            return None
        self._rows[name], self._ranges[name] = rows, ranges_of_rows(rows)
        return name

    def columns(self, sql: str) -> list[Column]:
        """The columns of a query's result."""
        if sql not in self._columns:
            described = self.run(f"DESCRIBE {self.translated(sql)}").fetchall()
            self._columns[sql] = [Column(name, spark_type(kind)) for name, kind, *_ in described]
        return self._columns[sql]

    def resolves(self, sql: str) -> bool:
        """Whether DuckDB accepts a query."""
        try:
            self.run(f"DESCRIBE {self.translated(sql)}")
        except NotOnDuckDB:
            return False
        return True

    def ranges(self, view: str) -> Mapping[str, Ranges]:
        """Between which values the columns of a view lie, by folded name, as far as that is known."""
        return self._ranges.get(view, {})

    def know_ranges(self, view: str, ranges: Mapping[str, Ranges]) -> None:
        """Remember the ranges of a view."""
        self._ranges[view] = ranges

    def rows_of(self, view: str) -> pa.Table | None:
        """The rows of a view, if they are in this process."""
        return self._rows.get(view)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The result of a query."""
        return self.run(self.translated(sql)).fetchall()

    def translated(self, sql: str) -> str:
        """A query as DuckDB wants it."""
        return translated(sql)

    def run(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Runs DuckDB's own SQL."""
        with _unsupported_refused(sql):
            return self.connection.execute(sql)

    def _step(self, sql: str, about: str, *, kept: bool) -> str:
        if self.names is None:
            self._count += 1
            name = f"trickle_{self._count}"
            self.steps.append(Step(name, about, sql, kept))
        else:
            wanted, count = name_of_step(about)
            name = self.names.give(wanted, count=count)
            self.steps.append(Step(name, about, self.names.shown(sql), kept))
        return name


@contextmanager
def _unsupported_refused(sql: str) -> Iterator[None]:
    try:
        yield
    except _NOT_TAKEN as error:
        raise NotOnDuckDB(f"{re.sub(chr(10) + '.*', '', str(error), flags=re.S)} in: {sql}") from error
