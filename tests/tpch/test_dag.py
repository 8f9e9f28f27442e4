"""Stream tables over stream tables, five levels and two diamonds deep, over TPC-H's data."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from airflow_trickle import Mode, Verdict
from tests.tpch import batches
from tests.tpch.data import generated
from tests.tpch.shop import open_shop, same

#: Each reads sources and tables before it.
TABLES = {
    "order_revenue": """
        SELECT l_orderkey AS orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, count(*) AS lines
        FROM lineitem
        GROUP BY l_orderkey
    """,
    "customer_revenue": """
        SELECT c_custkey AS custkey, c_nationkey AS nationkey, sum(r.revenue) AS revenue, count(r.orderkey) AS orders
        FROM customer LEFT JOIN orders ON o_custkey = c_custkey LEFT JOIN order_revenue AS r ON r.orderkey = o_orderkey
        GROUP BY c_custkey, c_nationkey
    """,
    "late_orders": """
        SELECT o_custkey AS custkey, o_orderkey AS orderkey, r.revenue
        FROM orders JOIN order_revenue AS r ON r.orderkey = o_orderkey
        WHERE EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_receiptdate > l_commitdate + 20)
    """,
    "customers": """
        WITH late AS (SELECT custkey, count(*) AS orders, max(revenue) AS most FROM late_orders GROUP BY custkey)
        SELECT c.custkey, c.nationkey, c.revenue, c.orders, coalesce(l.orders, 0) AS late, l.most
        FROM customer_revenue AS c LEFT JOIN late AS l ON l.custkey = c.custkey
    """,
    "nation_revenue": """
        SELECT n_name AS nation, sum(revenue) AS revenue, sum(late) AS late, count(DISTINCT custkey) AS customers,
          max(most) AS most
        FROM customers JOIN nation ON n_nationkey = nationkey
        GROUP BY n_name
    """,
    "top_nations": """
        SELECT nation, revenue FROM nation_revenue ORDER BY revenue DESC, nation LIMIT 5
    """,
    "above_all": """
        SELECT c.custkey, n.n_name AS nation
        FROM customers AS c JOIN nation AS n ON n.n_nationkey = c.nationkey
        WHERE n.n_name IN (SELECT nation FROM top_nations)
          AND c.revenue > (SELECT max(revenue) FROM nation_revenue WHERE nation = n.n_name) / 10
    """,
    "months": """
        SELECT year(o_orderdate) * 100 + month(o_orderdate) AS month, sum(r.revenue) AS revenue,
          rank() OVER (ORDER BY sum(r.revenue) DESC) AS place
        FROM orders JOIN order_revenue AS r ON r.orderkey = o_orderkey
        GROUP BY year(o_orderdate) * 100 + month(o_orderdate)
    """,
}


def test_tables_over_tables_stay_right_and_none_is_computed_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_home: Path
) -> None:
    shop, chance = open_shop(tmp_path, generated(tmp_path / "raw", 0.002), monkeypatch), Random(5)
    shop.define(TABLES, **{name: {"refresh_mode": "DIFFERENTIAL"} for name in TABLES})
    assert {result.mode for result in shop.tick().values()} == {Mode.FULL}
    before = shop.published(TABLES)
    for number in range(2):
        batches.old_orders(shop, chance, 20)
        batches.new_orders(shop, chance, 20)
        for name in ("orders", "lineitem", "customer"):
            batches.updates(shop, chance, name, 6)
        if number:
            batches.updates(shop, chance, "nation", 3)
        assert {name: result.mode for name, result in shop.tick().items()} == dict.fromkeys(TABLES, Mode.DIFFERENTIAL)
        after, judged = shop.published(TABLES), shop.by_duckdb(TABLES)
        for name in TABLES:
            assert same(after[name], judged[name]), (number, name)
            assert not same(after[name], before[name]), (number, name)
        before = after
    assert {one.verdict for one in shop.verify().values()} == {Verdict.OK}


def test_a_change_that_stops_half_way_leaves_what_is_behind_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_home: Path
) -> None:
    """A ship mode is no part of any revenue: the first table is looked at, and nothing after it."""
    shop = open_shop(tmp_path, generated(tmp_path / "raw", 0.001), monkeypatch)
    chain = {name: TABLES[name] for name in ("order_revenue", "customer_revenue")}
    shop.define(chain, **{name: {"refresh_mode": "DIFFERENTIAL"} for name in chain})
    shop.tick()
    shop.update("lineitem", "l_orderkey", {"l_shipmode": {1: "'ROCKET'", 2: "NULL"}})
    results = shop.tick()
    assert results["order_revenue"].mode is Mode.DIFFERENTIAL
    assert not results["order_revenue"].changed
    assert results["customer_revenue"].mode is Mode.NO_DATA
