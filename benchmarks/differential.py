"""Seven queries of one operator each beside plain Spark and DuckDB, over changes of TPC-H's orders and lineitems.

The rounds are those of `benchmarks.tpch`, and so are the settings.
"""

from __future__ import annotations

from benchmarks.changes import TABLES
from benchmarks.comparison import compare
from benchmarks.settings import settings

QUERIES = {
    "scan_filter": "SELECT l_orderkey, l_extendedprice FROM lineitem WHERE l_quantity > 45",
    "join": "SELECT o.o_orderdate, l.l_partkey, l.l_quantity FROM lineitem AS l "
    "JOIN orders AS o ON o.o_orderkey = l.l_orderkey WHERE l.l_quantity > 45",
    "aggregate": "SELECT l_suppkey, count(*) AS n, sum(l_quantity) AS q FROM lineitem GROUP BY l_suppkey",
    "join_aggregate": "SELECT o.o_custkey, sum(l.l_extendedprice) AS paid FROM lineitem AS l "
    "JOIN orders AS o ON o.o_orderkey = l.l_orderkey GROUP BY o.o_custkey",
    "window": "SELECT l_suppkey, l_orderkey, l_linenumber, "
    "rank() OVER (PARTITION BY l_suppkey ORDER BY l_extendedprice) AS r FROM lineitem WHERE l_quantity > 45",
    "distinct": "SELECT DISTINCT l_suppkey, l_partkey FROM lineitem",
    "anti_join": "SELECT o_orderkey FROM orders AS o WHERE NOT EXISTS "
    "(SELECT 1 FROM lineitem AS l WHERE l.l_orderkey = o.o_orderkey AND l.l_quantity > 40)",
}


def main() -> None:
    """Print seconds, ratios, jobs and bytes for every query, kind and share of changes."""
    compare("differential", QUERIES, TABLES, settings(QUERIES, shares="0.0001,0.001,0.01"))
