"""The sources of the example pipeline: what the shop's applications would write, by plain pyiceberg."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog

SCHEMAS = {
    "customers": pa.schema([("customer_id", pa.int64()), ("name", pa.string()), ("country", pa.string())]),
    "orders": pa.schema(
        [
            ("order_id", pa.int64()),
            ("customer_id", pa.int64()),
            ("ordered_on", pa.date32()),
            ("status", pa.string()),
        ]
    ),
    "order_lines": pa.schema(
        [
            ("order_id", pa.int64()),
            ("product", pa.string()),
            ("quantity", pa.int32()),
            ("price", pa.decimal128(10, 2)),
        ]
    ),
}

_CUSTOMERS = [
    (1, "Ada", "GB"),
    (2, "Blaise", "FR"),
    (3, "Carl", "DE"),
    (4, "Emmy", "DE"),
    (5, "Grace", "US"),
]
_ORDERS = [
    (101, 1, date(2026, 3, 1), "delivered"),
    (102, 2, date(2026, 3, 1), "delivered"),
    (103, 1, date(2026, 3, 2), "delivered"),
    (104, 3, date(2026, 3, 2), "cancelled"),
    (105, 5, date(2026, 3, 3), "sent"),
    (106, 4, date(2026, 3, 3), "paid"),
]
_LINES = [
    (101, "kettle", 1, "34.90"),
    (101, "mug", 4, "7.50"),
    (102, "teapot", 1, "49.00"),
    (103, "mug", 2, "7.50"),
    (104, "kettle", 2, "34.90"),
    (105, "grinder", 1, "129.00"),
    (105, "mug", 2, "7.50"),
    (106, "teapot", 1, "49.00"),
    (106, "kettle", 1, "34.90"),
]


def load(catalog: Catalog) -> None:
    """Create the three sources and their first rows."""
    catalog.create_namespace_if_not_exists("webshop")
    for name, rows in (("customers", _CUSTOMERS), ("orders", _ORDERS), ("order_lines", _LINES)):
        table = catalog.create_table(f"webshop.{name}", schema=SCHEMAS[name])
        table.append(_rows(name, rows))


def change(catalog: Catalog) -> list[str]:
    """A day later: inserts, updates and deletes in the sources; says in words what was done."""
    customers = catalog.load_table("webshop.customers")
    customers.append(_rows("customers", [(6, "Sophie", "FR")]))
    orders = catalog.load_table("webshop.orders")
    orders.append(_rows("orders", [(107, 6, date(2026, 3, 4), "paid"), (108, 2, date(2026, 3, 4), "paid")]))
    orders.overwrite(_rows("orders", [(105, 5, date(2026, 3, 3), "cancelled")]), overwrite_filter="order_id == 105")
    lines = catalog.load_table("webshop.order_lines")
    lines.append(_rows("order_lines", [(107, "grinder", 2, "119.00"), (108, "mug", 6, "7.50")]))
    lines.delete("order_id == 106 and product == 'kettle'")
    return [
        "insert: customer Sophie, her order 107 and Blaise's order 108",
        "update: Grace's order 105 is cancelled",
        "delete: Emmy sends back the kettle of order 106",
    ]


def _rows(name: str, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    schema = SCHEMAS[name]
    as_dicts = [dict(zip(schema.names, row, strict=True)) for row in rows]
    for row in as_dicts:
        if "price" in row:
            row["price"] = Decimal(row["price"])
    return pa.Table.from_pylist(as_dicts, schema=schema)
