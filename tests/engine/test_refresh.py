from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import LongType

from airflow_trickle import Mode, TickFailed
from tests import budgets
from tests.engine.world import World

ORDERS = pa.schema(
    [("id", pa.int64()), ("customer", pa.string()), ("amount", pa.decimal128(12, 2)), ("day", pa.date32())]
)
CUSTOMERS = pa.schema([("name", pa.string()), ("country", pa.string()), ("score", pa.float64())])

TOTALS = "SELECT customer, COUNT(*) AS orders, SUM(amount) AS total FROM orders GROUP BY customer"
QUERIES = {
    "totals": TOTALS,
    "plain": "SELECT id, customer, amount FROM orders WHERE amount > 10 OR amount IS NULL",
    "joined": "SELECT c.country, t.orders FROM customers c LEFT JOIN totals t ON t.customer = c.name",
    "bagged": "SELECT customer FROM orders UNION ALL SELECT name FROM customers",
    "lonely": "SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.name)",
}


def order(id: int | None, customer: str | None, amount: str | None, day: int = 1) -> dict[str, Any]:
    return {
        "id": id,
        "customer": customer,
        "amount": Decimal(amount) if amount is not None else None,
        "day": dt.date(2026, 1, day),
    }


def shop(world: World) -> World:
    world.source("orders", ORDERS, [order(1, "ann", "5.00"), order(2, "bob", "20.00"), order(3, None, None)])
    world.source("customers", CUSTOMERS, [{"name": "ann", "country": "NL", "score": 0.5}])
    return world


def assert_right(world: World, queries: dict[str, str] = QUERIES) -> None:
    for name in queries:
        assert world.rows(name) == world.judge(f"SELECT * FROM {name}", **queries), name


def test_first_tick_publishes_every_table(world: World) -> None:
    shop(world).define(QUERIES)
    results = world.tick()
    assert {result.mode for result in results.values()} == {Mode.FULL}
    assert results["totals"].reason == "first refresh"
    assert (results["totals"].rows_in, results["totals"].rows_inserted, results["totals"].rows_deleted) == (
        3,
        3,
        0,
    )
    assert_right(world)


def test_exactly_the_difference_is_published(world: World) -> None:
    shop(world).define({"plain": QUERIES["plain"]})
    assert world.tick()["plain"].epoch == 1
    world.append("orders", order(4, "cid", "99.00"), order(4, "cid", "99.00"))
    world.delete("orders", "id = 2")
    result = world.tick()["plain"]
    assert (result.mode, result.rows_inserted, result.rows_deleted, result.epoch) == (Mode.FULL, 2, 1, 2)
    assert result.reason.startswith("orders changed; AUTO: full because it reads less than ")
    assert_right(world, {"plain": QUERIES["plain"]})


def test_an_unchanged_result_publishes_nothing_and_is_not_computed_again(world: World) -> None:
    shop(world).define({"big": "SELECT id FROM orders WHERE amount > 1000"})
    world.tick()
    world.append("orders", order(9, "ann", "1.00"))
    second = world.tick()["big"]
    assert (second.mode, second.changed, second.epoch) == (Mode.FULL, False, 1)
    assert world.snapshots("big") == 1
    third = world.tick()["big"]
    assert (third.mode, third.reason) == (Mode.NO_DATA, "no input changed")


def test_nothing_to_do_starts_no_spark(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(world).define(QUERIES)
    world.tick()

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("airflow_trickle.spark.session.connect", refuse)
    results = world.tick()
    assert {result.mode for result in results.values()} == {Mode.NO_DATA}
    # A change that cancels out, also through rewritten files, is no change.
    world.append("orders", order(7, "dan", "1.00"))
    world.delete("orders", "id = 7")
    world.replace("customers", [{"name": "ann", "country": "NL", "score": 0.5}])
    results = world.tick()
    assert {result.mode for result in results.values()} == {Mode.NO_DATA}
    assert results["totals"].reason == "inputs moved without a net change"
    assert {r.reason for r in world.tick().values()} == {"no input changed"}


def test_downstream_of_an_unchanged_table_is_left_alone(world: World) -> None:
    shop(world).define({"big": "SELECT id FROM orders WHERE amount > 1000", "count_big": "SELECT COUNT(*) n FROM big"})
    world.tick()
    world.append("orders", order(9, "ann", "1.00"))
    results = world.tick()
    assert (results["big"].mode, results["count_big"].mode) == (Mode.FULL, Mode.NO_DATA)


def test_empty_sources_give_an_empty_table(world: World) -> None:
    world.source("orders", ORDERS)
    world.define({"totals": TOTALS, "n": "SELECT COUNT(*) AS n FROM orders"})
    world.tick()
    assert world.rows("totals") == {}
    assert world.rows("n") == {(0,): 1}
    world.append("orders", order(1, "ann", "1.00"))
    world.tick()
    world.delete("orders", "id = 1")
    world.tick()
    assert world.rows("totals") == {}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (1, 2))])
def test_random_changes_end_right_after_every_tick(world: World, seed: int) -> None:
    """Inserts, deletes, updates, duplicates and NULLs by plain pyiceberg; DuckDB judges."""
    chance = budgets.chance(seed)
    shop(world).define(QUERIES)
    for _ in range(5):
        for _ in range(chance.randint(0, 3)):
            _change(world, chance)
        results = world.tick()
        assert {result.mode for result in results.values()} <= {Mode.FULL, Mode.NO_DATA}
        assert_right(world)


def _change(world: World, chance: random.Random) -> None:
    def any_order() -> dict[str, Any]:
        customer = chance.choice(["ann", "bob", "cid", None])
        return order(chance.randint(1, 6), customer, chance.choice(["1.00", "50.00", None]), chance.randint(1, 3))

    kind = chance.randint(0, 4)
    if kind == 0:
        world.append("orders", *[any_order()] * chance.randint(1, 3), any_order())
    elif kind == 1:
        world.delete("orders", f"id = {chance.randint(1, 6)}")
    elif kind == 2:
        world.replace("orders", [any_order() for _ in range(chance.randint(0, 8))])
    elif kind == 3:
        names = chance.sample(["ann", "bob", "cid", "dan"], 2)
        world.append("customers", *({"name": n, "country": chance.choice(["NL", None]), "score": None} for n in names))
    else:
        world.delete("customers", f"name = '{chance.choice(['ann', 'bob', 'dan'])}'")


def test_all_tables_of_a_tick_see_the_pinned_sources(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(world).define(
        {
            "a": "SELECT COUNT(*) n FROM orders",
            "b": "SELECT COUNT(*) n FROM orders",
            "c": "SELECT a.n = b.n same FROM a, b",
        }
    )
    world.tick()

    def meddle(table: str) -> None:
        world.append("orders", order(50, table, "1.00"))

    world.append("orders", order(49, "x", "1.00"))
    world.tick(starting=meddle)
    assert world.rows("a") == world.rows("b") == {(4,): 1}
    world.tick()
    assert world.rows("a") == world.rows("b") == {(7,): 1}


def test_a_failing_table_holds_up_only_what_reads_it(world: World) -> None:
    shop(world).define(
        {
            "bad": "SELECT id / 0 AS x FROM orders",
            "after_bad": "SELECT x FROM bad",
            "good": "SELECT id FROM orders",
        }
    )
    with pytest.raises(TickFailed) as caught:
        world.tick()
    results = caught.value.results
    assert "DIVIDE_BY_ZERO" in str(results["bad"].error)
    assert (results["after_bad"].mode, results["after_bad"].reason) == (
        Mode.SKIPPED,
        "its input bad failed in this tick",
    )
    assert results["good"].rows_inserted == 3
    assert not world.outside.table_exists("default.bad")
    world.define(
        {
            "bad": "SELECT id / 1 AS x FROM orders",
            "after_bad": "SELECT x FROM bad",
            "good": "SELECT id FROM orders",
        }
    )
    assert world.tick()["after_bad"].rows_inserted == 3


def test_as_of_reads_the_past_and_never_goes_back(world: World) -> None:
    shop(world).define({"n": "SELECT COUNT(*) AS n FROM orders"})
    first = world.outside.load_table("default.orders").current_snapshot()
    then = dt.datetime.fromtimestamp(first.timestamp_ms / 1000, dt.timezone.utc)  # type: ignore[union-attr]
    world.append("orders", order(4, "x", "1.00"))
    world.tick(as_of=then)
    assert world.rows("n") == {(3,): 1}
    world.tick()
    assert world.rows("n") == {(4,): 1}
    result = world.tick(as_of=then)["n"]
    assert (result.mode, result.reason) == (Mode.SKIPPED, "a later tick has already brought it further")
    assert world.rows("n") == {(4,): 1}


def test_full_refresh_recomputes_even_if_nothing_changed(world: World) -> None:
    shop(world).define({"n": "SELECT COUNT(*) AS n FROM orders"})
    world.tick()
    result = world.tick(full_refresh=["n"])["n"]
    assert (result.mode, result.changed) == (Mode.FULL, False)
    assert result.reason.startswith("a full refresh was asked for")


def test_source_that_rolls_back_takes_its_tables_with_it(world: World) -> None:
    shop(world).define({"n": "SELECT COUNT(*) AS n FROM orders"})
    table = world.outside.load_table("default.orders")
    first = table.current_snapshot().snapshot_id  # type: ignore[union-attr]
    world.append("orders", order(4, "x", "1.00"))
    world.tick()
    world.outside.load_table("default.orders").manage_snapshots().rollback_to_snapshot(first).commit()
    world.tick()
    assert world.rows("n") == {(3,): 1}


def test_all_types_survive_the_journey(world: World) -> None:
    schema = pa.schema(
        [
            ("b", pa.bool_()), ("i", pa.int32()), ("l", pa.int64()), ("f", pa.float32()), ("d", pa.float64()),
            ("s", pa.string()), ("x", pa.binary()), ("dec", pa.decimal128(38, 10)), ("day", pa.date32()),
            ("ts", pa.timestamp("us")), ("tz", pa.timestamp("us", tz="UTC")),
            ("arr", pa.list_(pa.int64())), ("st", pa.struct([("p", pa.string()), ("q", pa.int64())])),
        ]
    )  # fmt: skip
    full = {
        "b": True, "i": -(2**31), "l": 2**63 - 1, "f": 1.5, "d": float("nan"), "s": "ü`'\"\\ \n", "x": b"\x00\xff",
        "dec": Decimal("1234567890123456789012345678.0123456789"), "day": dt.date(1, 1, 1),
        "ts": dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        "tz": dt.datetime(2026, 3, 29, 1, 0, tzinfo=dt.timezone.utc),
        "arr": [1, None, 3], "st": {"p": None, "q": 7},
    }  # fmt: skip
    empty = dict.fromkeys(full)
    world.source("t", schema, [full, full, empty])
    world.define({"copy": "SELECT * FROM t", "again": "SELECT * FROM copy"})
    world.tick()
    assert world.rows("again") == world.rows("t")
    world.append("t", empty, full | {"d": -0.5, "arr": []})
    world.delete("t", "s IS NULL")
    world.tick()
    assert world.rows("again") == world.rows("copy") == world.rows("t")


def test_maps_are_refused_with_a_way_out(world: World) -> None:
    world.source("t", pa.schema([("k", pa.string()), ("v", pa.int64())]), [{"k": "a", "v": 1}, {"k": "b", "v": None}])
    world.define({"m": "SELECT map(k, v) AS m FROM t"})
    with pytest.raises(TickFailed) as caught:
        world.tick()
    assert caught.value.results["m"].error == (
        f"{world.yaml}:5:3: stream table 'm': column 'm' has type map, which this version does not compare exactly. "
        f"Use map_entries(…) for an array of structs."
    )
    world.define({"m": "SELECT map_entries(map(k, v)) AS m FROM t"})
    world.tick()
    world.append("t", {"k": "c", "v": None})
    world.delete("t", "k = 'a'")
    result = world.tick()["m"]
    assert (result.rows_inserted, result.rows_deleted) == (1, 1)
    assert world.rows("m") == {
        (((("key", "b"), ("value", None)),),): 1,
        (((("key", "c"), ("value", None)),),): 1,
    }


def test_renamed_and_added_source_columns_are_read_as_iceberg_means_them(world: World) -> None:
    world.source("t", pa.schema([("a", pa.int32()), ("b", pa.string())]), [{"a": 1, "b": "x"}])
    world.define({"c": "SELECT * FROM t"})
    world.tick()
    table = world.outside.load_table("default.t")
    with table.update_schema() as update:
        update.rename_column("b", "a_b")
        update.add_column("n", LongType())
        update.update_column("a", LongType())
    world.sources["t"] = pa.schema([("a", pa.int64()), ("a_b", pa.string()), ("n", pa.int64())])
    world.append("t", {"a": 2**40, "a_b": "y", "n": 5})
    world.tick()
    assert world.rows("c") == world.rows("t") == {(1, "x", None): 1, (2**40, "y", 5): 1}


def test_swapped_and_reused_column_names_do_not_confuse_the_columns(world: World) -> None:
    nested = pa.struct([("p", pa.string()), ("q", pa.int64())])
    first = pa.schema([("a", pa.int32()), ("b", pa.string()), ("st", nested), ("l", pa.list_(nested))])
    row = {"a": 1, "b": "x", "st": {"p": "in", "q": 7}, "l": [{"p": "el", "q": 8}]}
    world.source("t", first, [row])
    world.define({"c": "SELECT a, b, st.p AS p, st.q AS q, l[0].p AS lp FROM t"})
    world.tick()
    table = world.outside.load_table("default.t")
    with table.update_schema() as update:
        update.rename_column("a", "tmp")
        update.rename_column("st.p", "tmp2")
    with world.outside.load_table("default.t").update_schema() as update:
        update.rename_column("b", "a")
        update.rename_column("st.q", "p")
    with world.outside.load_table("default.t").update_schema() as update:
        update.rename_column("tmp", "b")
        update.rename_column("st.tmp2", "q")
    world.define({"c": "SELECT a, b, st.p AS p, st.q AS q, l[0].p AS lp FROM t"})
    world.outside.load_table("default.t").append(world.outside.load_table("default.t").scan().to_arrow())
    world.tick()
    assert world.rows("c") == {("x", 1, 7, "in", "el"): 2}


def test_odd_characters_in_the_warehouse_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_home: Path
) -> None:
    folder = tmp_path / "a b[1]%20{x}*?#ü"
    folder.mkdir()
    world = World(folder, f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", world.uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", str(folder / "warehouse"))
    world.warehouse = str(folder / "warehouse")
    world.outside.properties["warehouse"] = world.warehouse
    world.source("t", pa.schema([("id", pa.int64())]), [{"id": 1}, {"id": 2}])
    world.define({"c": "SELECT id FROM t"})
    world.tick()
    world.delete("t", "id = 1")
    world.append("t", {"id": 3})
    world.tick()
    assert world.rows("c") == {(2,): 1, (3,): 1}
