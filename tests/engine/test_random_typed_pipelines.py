"""Random queries over columns of many types, refreshed from random changes; a plain run on Spark judges each tick."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DataType

from airflow_trickle import Mode, TableResult
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.modes import obstacles_of_query
from airflow_trickle.errors import TickFailed
from airflow_trickle.tuning import Tuning
from tests import budgets
from tests.analysis.typed_queries import TABLES, random_row, random_typed_query, schema_of
from tests.conftest import Tuned
from tests.engine.world import FROM_CHANGES, World

Bag = Counter[Any]


@pytest.fixture
def from_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """AUTO takes changes for cheaper, however small the tables are; what cannot be is computed in full."""
    monkeypatch.setattr("airflow_trickle.engine.publish.choose", lambda *_: FROM_CHANGES)


def plain(value: Any) -> Any:
    """A value that equals another one only if both would be shown alike: NaN is one value, 0.0 and -0.0 are one."""
    if isinstance(value, float):
        return repr(value + 0.0)
    if isinstance(value, list):
        return tuple(plain(one) for one in value)
    if isinstance(value, dict):
        return tuple((key, plain(one)) for key, one in value.items())
    return value if value is None or isinstance(value, bool) else (type(value).__name__, value)


def bag(table: pa.Table) -> Bag:
    columns = [table.column(at).to_pylist() for at in range(table.num_columns)]
    return Counter(tuple(plain(column[at]) for column in columns) for at in range(table.num_rows))


def with_one_zero(rows: pa.Table) -> pa.Table:
    """Every -0.0 as 0.0, as tables are read."""
    for at, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type):
            rows = rows.set_column(at, field, pc.add(rows.column(at), pa.scalar(0.0, field.type)))
    return rows


def load(spark: SparkSession, world: World) -> None:
    """Views of the sources as they are now, by their names."""
    for name in world.sources:
        rows = with_one_zero(world.outside.load_table(f"default.{name}").scan().to_arrow())
        schema = from_arrow_schema(rows.schema, prefer_timestamp_ntz=True)
        spark.createDataFrame(rows, schema).createOrReplaceTempView(name)


def run_plainly(spark: SparkSession, tables: dict[str, str]) -> dict[str, Bag | str]:
    """What each query gives over the views of its sources, or the condition of Spark's error."""
    found: dict[str, Bag | str] = {}
    for name, query in tables.items():
        try:
            found[name] = bag(spark.sql(query).toArrow())
        except PySparkException as error:
            found[name] = str(error.getCondition())
    return found


def _can_be_published(kind: DataType) -> bool:
    return not any(word in kind.simpleString() for word in ("interval", "map<", "void", "variant"))


def queries(spark: SparkSession, chance: random.Random, count: int) -> dict[str, str]:
    """Queries that Spark takes, and that are refreshed from changes as far as their text tells."""
    found: dict[str, str] = {}
    while len(found) < count:
        query = random_typed_query(chance)
        parsed = parse_query(query)
        if parsed.problems or obstacles_of_query(parsed):
            continue
        try:
            columns = spark.sql(query).schema.fields
        except AnalysisException:
            continue
        if all(_can_be_published(column.dataType) for column in columns):
            found[f"q{len(found)}"] = query
    return found


def change(world: World, chance: random.Random) -> None:
    name = chance.choice(list(TABLES))
    rows = [random_row(chance, name) for _ in range(chance.randint(1, 4))]
    kind = chance.randint(0, 5)
    if kind <= 2:
        world.append(name, *rows, *chance.sample(rows, len(rows) // 2))
    elif kind == 3:
        world.delete(name, f"k = '{chance.choice(['', 'a', 'A', '1'])}'")
    elif kind == 4:
        world.delete(name, chance.choice(["id = 1", "id is null", "id = 0", "k is null"]))
        world.append(name, *rows)
    else:
        world.replace(name, [random_row(chance, name) for _ in range(chance.randint(0, 8))])


def ticked(world: World) -> dict[str, TableResult]:
    try:
        return world.tick()
    except TickFailed as failure:
        return failure.results


def followed(world: World, spark: SparkSession, seed: int, *, ticks: int, count: int) -> Counter[str]:
    """How often which mode refreshed the tables of a random pipeline, all of them right after every tick."""
    chance = random.Random(seed)
    for name in TABLES:
        world.source(name, schema_of(name), [random_row(chance, name) for _ in range(chance.randint(2, 9))])
    load(spark, world)
    tables = queries(spark, chance, count)
    world.define(tables)
    modes: Counter[str] = Counter()
    for tick in range(ticks + 1):
        for _ in range(chance.randint(1, 3) if tick else 0):
            change(world, chance)
        load(spark, world)
        wanted, results = run_plainly(spark, tables), ticked(world)
        for name, query in tables.items():
            told, result = (seed, tick, name, query), results[name]
            if isinstance(wanted[name], str):
                modes["Spark fails"] += 1
                continue
            assert result.error is None, (told, result.error)
            assert bag(world.outside.load_table(f"default.{name}").scan().to_arrow()) == wanted[name], told
            if tick:
                modes[str(result.mode)] += 1
    return modes


def test_random_pipelines_over_many_types_stay_right(
    world: World, spark: SparkSession, tuned: Tuned, from_changes: None
) -> None:
    tuned(aux_state_min_bytes=0)
    modes = followed(world, spark, 0, ticks=3, count=8)
    assert modes[Mode.DIFFERENTIAL] >= 8, modes


@pytest.mark.soak
def test_random_pipelines_over_many_types_stay_right_for_as_long_as_one_likes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tuned: Tuned,
    spark: SparkSession,
    from_changes: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    modes: Counter[str] = Counter()
    runs = 0
    for seed in budgets.soak_seeds(seconds=600):
        made = World(tmp_path / str(seed), f"sqlite:///{tmp_path}/{seed}.db")
        with monkeypatch.context() as patched:
            patched.setenv("PYICEBERG_CATALOG__TRICKLE__URI", made.uri)
            patched.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", made.warehouse)
            tuned(aux_state_min_bytes=0 if seed % 2 else Tuning().aux_state_min_bytes)
            tuned(arrow_read_rows=0 if seed % 3 else Tuning().arrow_read_rows)
            modes += followed(made, spark, seed, ticks=4, count=10)
        runs += 1
    with capsys.disabled():
        told = ", ".join(f"{count} {mode}" for mode, count in modes.most_common())
        print(f"\n{runs} pipelines of 10 tables, 4 ticks each, all right; refreshes: {told}; from seed {budgets.SEED}")
