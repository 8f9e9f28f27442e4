"""A small source table for a first try: what ``trickle init --sample-data`` creates."""

from __future__ import annotations

from datetime import date

import pyarrow as pa

from airflow_trickle.lakehouse.catalog import Lakehouse

SAMPLE = "default.sales"


def create_sample(lake: Lakehouse) -> bool:
    """Create the table `SAMPLE` with three rows; False if the catalog has such a table already."""
    if lake.table(SAMPLE) is not None:
        return False
    rows = pa.table(
        {
            "sold_on": [date(2026, 1, 1), date(2026, 1, 1), date(2026, 1, 2)],
            "pieces": pa.array([2, 1, 5], pa.int64()),
            "price": pa.array(["9.50", "20.00", "3.00"]).cast(pa.decimal128(10, 2)),
        }
    )
    lake.ensure_namespace(SAMPLE)
    lake.catalog.create_table(SAMPLE, schema=rows.schema).append(rows)
    return True
