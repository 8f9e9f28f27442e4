"""The 22 queries of TPC-H beside plain Spark and DuckDB, over changes of orders and lineitems.

Each round changes the sources, refreshes one stream table per query, and lets plain Spark overwrite a folder with the
same query's result and DuckDB write it to a file. Published rows are compared with plain Spark's in every round.
Settings are in `benchmarks.settings`.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.comparison import compare
from benchmarks.settings import settings

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
_FOLDER = Path(__file__).resolve().parent.parent / "tests" / "tpch" / "queries"
QUERIES = {path.stem: path.read_text() for path in sorted(_FOLDER.glob("q*.sql"))}


def main() -> None:
    """Print seconds, ratios, jobs and bytes for every query, kind and share of changes."""
    compare("tpch", QUERIES, TABLES, settings(QUERIES))
