"""DIFFERENTIAL refreshes of real tables, tick after tick: published rows are those of the query, and how is told."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, TickFailed
from airflow_trickle.engine.choose import choose
from tests.conftest import Tuned
from tests.engine.world import World

ORDERS = pa.schema(
    [("id", pa.int64()), ("customer", pa.string()), ("amount", pa.decimal128(10, 2)), ("day", pa.date32())]
)
CUSTOMERS = pa.schema([("name", pa.string()), ("country", pa.string()), ("score", pa.float64())])

QUERIES = {"plain": "SELECT id, customer, amount FROM orders WHERE amount > 10 OR amount IS NULL"}


def order(id: int, customer: str | None, amount: str | None, day: int = 1) -> dict[str, Any]:
    return {
        "id": id,
        "customer": customer,
        "amount": Decimal(amount) if amount is not None else None,
        "day": dt.date(2026, 1, day),
    }


@pytest.fixture
def shop(world: World) -> World:
    world.source("orders", ORDERS, [order(1, "ann", "5.00"), order(2, "bob", "20.00"), order(3, None, None)])
    world.source("customers", CUSTOMERS, [{"name": "ann", "country": "NL", "score": 0.5}])
    return world


def assert_right(world: World, queries: dict[str, str] = QUERIES) -> None:
    for name in queries:
        assert world.rows(name) == world.judge(f"SELECT * FROM {name}", **queries), name


def test_exactly_the_change_is_published_and_told(shop: World) -> None:
    shop.define({"plain": QUERIES["plain"]}, plain={"refresh_mode": "DIFFERENTIAL"})
    shop.tick()
    shop.append("orders", order(4, "cid", "99.00"), order(4, "cid", "99.00"), order(5, "cid", "1.00"))
    result = shop.tick()["plain"]
    assert (result.mode, result.rows_in, result.rows_inserted, result.rows_deleted) == (Mode.DIFFERENTIAL, 3, 2, 0)
    assert result.reason == "orders changed; refresh_mode: DIFFERENTIAL"
    shop.delete("orders", "id = 2")
    result = shop.tick()["plain"]
    assert (result.mode, result.rows_inserted, result.rows_deleted) == (Mode.DIFFERENTIAL, 0, 1)
    summary = shop.outside.load_table("default.plain").current_snapshot().summary  # type: ignore[union-attr]
    assert summary is not None
    assert summary.additional_properties["trickle.mode"] == "DIFFERENTIAL"
    assert_right(shop, {"plain": QUERIES["plain"]})


def test_a_change_that_leaves_the_result_alone_publishes_nothing(shop: World) -> None:
    shop.define({"big": "SELECT id FROM orders WHERE amount > 1000"}, big={"refresh_mode": "DIFFERENTIAL"})
    shop.tick()
    shop.append("orders", order(9, "ann", "1.00"))
    result = shop.tick()["big"]
    assert (result.mode, result.changed, result.epoch) == (Mode.DIFFERENTIAL, False, 1)
    assert shop.snapshots("big") == 1
    assert shop.tick()["big"].mode is Mode.NO_DATA


def test_sums_of_doubles_do_not_drift(world: World) -> None:
    """Each sum is computed anew from the rows of its group: what was added and taken away leaves no trace."""
    schema = pa.schema([("k", pa.int64()), ("x", pa.float64())])
    world.source("t", schema, [{"k": 1, "x": 0.1}, {"k": 2, "x": 0.3}])
    query = "SELECT k, SUM(x) AS s FROM t GROUP BY k"
    world.define({"sums": query}, sums={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    for big in (1e17, -3e16, 7e15):
        world.append("t", {"k": 1, "x": big})
        assert world.tick()["sums"].mode is Mode.DIFFERENTIAL
        world.delete("t", f"x = {big:.1f}")
        assert world.tick()["sums"].mode is Mode.DIFFERENTIAL
    rows = world.outside.load_table("default.sums").scan().to_arrow().to_pylist()
    assert sorted((row["k"], row["s"]) for row in rows) == [(1, 0.1), (2, 0.3)]


def test_a_row_that_fails_stops_the_refresh_until_it_is_mended(world: World) -> None:
    schema = pa.schema([("id", pa.int64()), ("divisor", pa.int64())])
    world.source("t", schema, [{"id": 1, "divisor": 2}])
    query = "SELECT id, 10 div divisor AS part FROM t"
    world.define({"parts": query}, parts={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    world.append("t", {"id": 2, "divisor": 0})
    with pytest.raises(TickFailed, match="DIVIDE_BY_ZERO"):
        world.tick()
    assert world.rows("parts") == {(1, 5): 1}
    world.delete("t", "id = 2")
    world.append("t", {"id": 2, "divisor": 5})
    assert world.tick()["parts"].mode is Mode.DIFFERENTIAL
    assert world.rows("parts") == {(1, 5): 1, (2, 2): 1}


def test_what_cannot_be_refreshed_from_changes_fails_if_that_was_asked_for(shop: World) -> None:
    inner = "SELECT country, SUM(score) AS total FROM customers GROUP BY country"
    query = f"SELECT c.country, s.total FROM customers c JOIN ({inner}) s ON s.country = c.country"
    shop.define({"t": query}, t={"refresh_mode": "DIFFERENTIAL"})
    shop.tick()
    shop.append("customers", {"name": "dan", "country": "NL", "score": 0.7})
    with pytest.raises(TickFailed) as failed:
        shop.tick()
    assert (
        "stream table 't' cannot be refreshed from changes, because sum() of floating-point numbers inside a query may "
        "come out otherwise each time. Nothing was published. Set refresh_mode: AUTO"
    ) in str(failed.value.results["t"].error)


def test_auto_reads_a_small_table_in_full_and_says_so(shop: World) -> None:
    shop.define({"plain": QUERIES["plain"]})
    shop.tick()
    shop.append("orders", order(4, "cid", "99.00"))
    result = shop.tick()["plain"]
    assert (result.mode, result.reason) == (
        Mode.FULL,
        "orders changed; AUTO: full because it reads less than 1 MiB",
    )


def test_an_expired_snapshot_leads_to_a_full_refresh_that_says_so(shop: World) -> None:
    shop.define({"plain": QUERIES["plain"]}, plain={"refresh_mode": "DIFFERENTIAL"})
    shop.tick()
    table = shop.outside.load_table("default.orders")
    old = table.metadata.current_snapshot_id
    shop.append("orders", order(4, "cid", "99.00"))
    table = shop.outside.load_table("default.orders")
    assert old is not None
    table.maintenance.expire_snapshots().by_id(old).commit()
    result = shop.tick()["plain"]
    assert (result.mode, result.reason) == (Mode.FULL, "the history of orders was expired or replaced")
    assert_right(shop, {"plain": QUERIES["plain"]})


def test_a_changed_query_is_computed_in_full_once(shop: World) -> None:
    shop.define({"plain": QUERIES["plain"]}, plain={"refresh_mode": "DIFFERENTIAL"})
    shop.tick()
    shop.define({"plain": "SELECT id FROM orders"}, plain={"refresh_mode": "DIFFERENTIAL"})
    result = shop.tick()["plain"]
    assert (result.mode, result.reason) == (Mode.FULL, "its query changed")
    shop.append("orders", order(4, "cid", "99.00"))
    assert shop.tick()["plain"].mode is Mode.DIFFERENTIAL
    assert_right(shop, {"plain": "SELECT id FROM orders"})


def test_auto_refreshes_a_large_table_from_changes(world: World, monkeypatch: pytest.MonkeyPatch, tuned: Tuned) -> None:
    # Not by what refreshes took: a test must not depend on the machine's speed.
    monkeypatch.setattr("airflow_trickle.engine.publish.choose", lambda work, _past: choose(work, []))
    tuned(auto_full_bytes=0)
    schema = pa.schema([("k", pa.int64()), ("x", pa.int64())])
    world.source("t", schema, [{"k": number % 7, "x": number} for number in range(100)])
    query = "SELECT k, SUM(x) AS s FROM t GROUP BY k"
    world.define({"sums": query})
    world.tick()
    world.append("t", {"k": 3, "x": 1000})
    result = world.tick()["sums"]
    assert (result.mode, result.reason) == (Mode.DIFFERENTIAL, "t changed; AUTO: from changes")
    assert (result.rows_inserted, result.rows_deleted) == (1, 1)
    world.append("t", *({"k": 3, "x": number} for number in range(90)))
    result = world.tick()["sums"]
    assert (result.mode, result.reason) == (
        Mode.FULL,
        "t changed; AUTO: full because the changed files hold 90 rows, and the inputs 191",
    )
    assert world.rows("sums") == world.judge(query)


def test_a_zero_has_one_sign_wherever_it_is_read(world: World) -> None:
    kinds = pa.schema([("k", pa.int64()), ("d", pa.float64()), ("l", pa.list_(pa.float32()))])

    def number(k: int, d: float) -> dict[str, Any]:
        return {"k": k, "d": d, "l": [d, None, 1.0]}

    world.source("numbers", kinds, [number(1, -0.0), number(2, 1.0), number(3, 0.0)])
    query = "SELECT k, CAST(d AS STRING) AS s, CAST(l[0] AS STRING) AS e FROM numbers"
    world.define({"told": query}, told={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    assert world.rows("told") == {(1, "0.0", "0.0"): 1, (2, "1.0", "1.0"): 1, (3, "0.0", "0.0"): 1}
    world.delete("numbers", "k = 1")
    assert world.tick()["told"].mode is Mode.DIFFERENTIAL
    world.replace("numbers", [number(2, -0.0), number(3, 0.0)])
    assert world.tick()["told"].mode is Mode.DIFFERENTIAL
    assert world.rows("told") == {(2, "0.0", "0.0"): 1, (3, "0.0", "0.0"): 1}
