"""Random queries over columns of many types and random changes, judged on DuckDB: rules do not depend on the engine."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import duckdb
import pytest

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.modes import obstacles_of_query
from airflow_trickle.blocks.shapes import NotInBlocks
from tests import budgets
from tests.analysis.typed_queries import SPARK_TYPES, TABLES, random_row, random_typed_query
from tests.engine.delta.duckdb_executor import NotOnDuckDB
from tests.engine.delta.duckdb_judge import DuckDBJudge, Row, Rows
from tests.engine.delta.golden import Table

#: What only a type tells, and what DuckDB makes a floating-point number and Spark does not.
_BY_TYPE = ("numbers", "is NULL without a type", "a column has the name of another relation", "does not show its keys")
_QUERIES = budgets.rounds(40)


def _row(random: Random, table: str) -> Row:
    # As tables are read: zero has one sign. DuckDB has no literal for a text with NUL.
    values = (
        0.0 if value == 0.0 and isinstance(value, float) else value for value in random_row(random, table).values()
    )
    return tuple("nul" if value == "\x00" else value for value in values)


def _changed(random: Random, table: str, rows: list[Row]) -> list[Row]:
    kind = random.randrange(10)
    if kind == 0:
        return list(rows)
    if kind == 1:
        return []
    kept = [row for row in rows if kind < 4 or random.random() < 0.75]
    return kept + [_row(random, table) for _ in range(random.randrange(4))]


def judged(judge: DuckDBJudge, seed: int) -> str:
    """What became of one random query: "ok", or why it is not judged."""
    random = Random(f"typed {seed}")
    query = random_typed_query(random)
    parsed = parse_query(query)
    if parsed.problems or obstacles_of_query(parsed):
        return "full"
    before: Rows = {name: [_row(random, name) for _ in range(random.randrange(7))] for name in TABLES}
    after: Rows = {name: _changed(random, name, rows) for name, rows in before.items()}
    told: tuple[Any, ...] = (seed, query, before, after)
    try:
        verdict = judge.judge(query, before, after, state=bool(seed % 2))
    except NotInBlocks as error:
        if not any(words in error.why for words in _BY_TYPE):
            pytest.fail(f"accepted, and then refused: {error.why}: {told}")
        return "by type"
    except NotOnDuckDB:
        return "DuckDB does not take it"
    except duckdb.ConversionException as error:
        if "do not add up" in str(error):
            pytest.fail(f"{error}: {told}")
        return "DuckDB does not convert it"
    assert verdict.found == verdict.wanted, (told, verdict.sql, verdict.steps)
    assert verdict.state is None or verdict.state[0] == verdict.state[1], (told, verdict.steps)
    return "ok"


@pytest.mark.seeded
def test_the_change_of_random_queries_over_many_types_is_exact() -> None:
    kinds = {name: {column: SPARK_TYPES[kind] for column, kind in of.items()} for name, of in TABLES.items()}
    judge = DuckDBJudge({name: Table(name, columns) for name, columns in kinds.items()})
    outcomes = Counter(judged(judge, seed) for seed in range(_QUERIES))
    assert outcomes["ok"] >= _QUERIES / 4, outcomes
