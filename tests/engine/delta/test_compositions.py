"""Random queries, one operator inside another, over random changes of all their tables."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import IntegerType, StructField, StructType

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.modes import obstacles_of_query
from airflow_trickle.blocks.shapes import NotInBlocks
from tests import budgets
from tests.analysis.random_queries import TABLES, random_query
from tests.engine.delta.duckdb_executor import ChangeNotOnDuckDB, NotOnDuckDB
from tests.engine.delta.duckdb_judge import DuckDBJudge
from tests.engine.delta.golden import Table
from tests.engine.delta.judge import Case, NotAQuery, change, changed, random_rows

_PAIR = StructType([StructField("x", IntegerType()), StructField("y", IntegerType())])
_VALUES = [[None, 0, 1, 2, 3], [None, 0, 1, 2]]


def judged(spark, seed, *, tidy=False):
    """What became of one random query: "ok", or why it is recomputed in full."""
    random = Random(seed)
    query = random_query(random).spark
    parsed = parse_query(query)
    obstacles = obstacles_of_query(parsed)
    if parsed.problems or obstacles:
        return obstacles[0].why if obstacles else "problem"
    before = {name: random_rows(random, _VALUES, random.randrange(7)) for name in TABLES}
    after = {name: changed(random, rows, _VALUES) for name, rows in before.items()}
    case = Case(query, dict.fromkeys(TABLES, _PAIR), before, after)
    try:
        found, wanted = change(spark, case, kept=bool(seed % 2), tidy=tidy)
    except NotInBlocks as error:
        return error.why
    except NotAQuery:
        return "Spark does not take the query"
    assert found == wanted, (seed, query, before, after, case.sql, case.steps)
    return "ok, with state" if case.kept else "ok"


def judged_without_spark(judge: DuckDBJudge, seed: int) -> str:
    """The same on DuckDB, over other queries: what only Spark can compute is passed over."""
    random = Random(f"DuckDB {seed}")
    query = random_query(random).spark
    parsed = parse_query(query)
    obstacles = obstacles_of_query(parsed)
    if parsed.problems or obstacles:
        return obstacles[0].why if obstacles else "problem"
    before = {name: random_rows(random, _VALUES, random.randrange(7)) for name in TABLES}
    after = {name: changed(random, rows, _VALUES) for name, rows in before.items()}
    try:
        verdict = judge.judge(query, before, after, state=bool(seed % 2))
    except NotInBlocks as error:
        return error.why
    except ChangeNotOnDuckDB:
        return "DuckDB does not take the change"
    except NotOnDuckDB:
        return "DuckDB does not take the query"
    assert verdict.found == verdict.wanted, (seed, query, before, after, verdict.sql, verdict.steps)
    if verdict.state is None:
        return "ok"
    refreshed, anew = verdict.state
    assert refreshed == anew, (seed, query, before, after, verdict.steps)
    return "ok, with state"


_QUERIES = budgets.rounds(60)


@pytest.mark.seeded
@pytest.mark.parametrize("part", range(4))
def test_the_change_of_random_queries_is_exact_on_duckdb(part: int) -> None:
    judge = DuckDBJudge({name: Table(name, {"x": "INT", "y": "INT"}) for name in TABLES})
    outcomes = Counter(judged_without_spark(judge, seed) for seed in range(part * _QUERIES, (part + 1) * _QUERIES))
    assert outcomes["ok"] + outcomes["ok, with state"] >= _QUERIES / 5, outcomes
    assert outcomes["DuckDB does not take the change"] <= _QUERIES / 20, outcomes


@pytest.mark.soak
def test_the_change_of_random_queries_is_exact_on_duckdb_for_as_long_as_one_likes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcomes: Counter[str] = Counter()
    judge = None
    for seed in budgets.soak_seeds(seconds=600):
        if outcomes.total() % 1000 == 0:
            judge = DuckDBJudge({name: Table(name, {"x": "INT", "y": "INT"}) for name in TABLES})
        assert judge is not None
        outcomes[judged_without_spark(judge, seed)] += 1
    with capsys.disabled():
        print(told(outcomes))
    assert outcomes["ok"] + outcomes["ok, with state"] >= outcomes.total() / 5, outcomes


def told(outcomes: Counter[str]) -> str:
    """What became of the queries of a soak."""
    good = outcomes["ok"] + outcomes["ok, with state"]
    lines = [f"\n{good} of {outcomes.total()} queries from changes, all exact; from seed {budgets.SEED}"]
    return "\n".join(lines + [f"  {count:6} {why}" for why, count in outcomes.most_common()])


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_the_change_of_random_queries_is_exact(spark, part):
    outcomes = Counter(judged(spark, seed) for seed in range(part * 20, part * 20 + 20))
    # Enough of them must be refreshed from changes for this to mean anything.
    assert outcomes["ok"] + outcomes["ok, with state"] >= 4, outcomes


@pytest.mark.soak
def test_the_change_of_random_queries_is_exact_for_as_long_as_one_likes(spark, capsys):
    outcomes = Counter()
    crashed = {}
    for seed in budgets.soak_seeds(seconds=600):
        try:
            outcomes[judged(spark, seed, tidy=True)] += 1
        except PySparkException as error:
            # No wrong row, and the others are still to be looked at.
            outcomes["Spark failed"] += 1
            crashed[seed] = f"{random_query(Random(seed)).spark}: {str(error).splitlines()[0][:300]}"
    with capsys.disabled():
        print(told(outcomes))
    assert not crashed, crashed
