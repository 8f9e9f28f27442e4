"""The SQL of a change, as it is shown: readable, complete, and accepted by Spark as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from airflow_trickle import Pipeline
from airflow_trickle.blocks.layout import laid_out
from airflow_trickle.engine.explain import ExplainedChange, UnknownInput
from airflow_trickle.errors import SourceMissing
from airflow_trickle.lakehouse.columns import spark_schema
from tests.engine.world import World
from tests.tpch.data import QUERIES

ORDERS = pa.schema([("id", pa.int64()), ("customer", pa.string()), ("amount", pa.decimal128(10, 2))])
CUSTOMERS = pa.schema([("name", pa.string()), ("country", pa.string())])

SHAPES = {
    "filtered": "SELECT id, amount FROM orders WHERE amount > 10",
    "joined": "SELECT o.id, c.country FROM orders AS o LEFT JOIN customers AS c ON c.name = o.customer",
    "fully": "SELECT o.id, c.country FROM orders AS o FULL JOIN customers AS c ON c.name = o.customer",
    "totals": "SELECT customer, count(*) AS n, sum(amount) AS total FROM orders GROUP BY customer",
    "big": "SELECT customer FROM orders GROUP BY customer HAVING count(*) > 3",
    "names": "SELECT customer FROM orders UNION SELECT name FROM customers",
    "lonely": "SELECT name FROM customers AS c WHERE NOT EXISTS (SELECT 1 FROM orders AS o WHERE o.customer = c.name)",
    "ranked": "SELECT id, customer, rank() OVER (PARTITION BY customer ORDER BY amount) AS r FROM orders",
    "all_of_it": "SELECT count(*) AS n FROM orders",
    "nested": "WITH t AS (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer) "
    "SELECT c.country, x.total FROM customers AS c JOIN (SELECT * FROM t WHERE total > 1) AS x ON x.customer = c.name",
    "top": "SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 3",
    "commented": "SELECT id, -- the key\n  amount * /* with tax */ 2 AS twice\nFROM orders",
    "taken": "WITH orders_before AS (SELECT id AS published FROM orders) SELECT published FROM orders_before",
    "suffixed": "SELECT id + 1L AS next, -2S AS small, 1.5BD * amount AS more FROM orders WHERE id > 0L",
    "lettered": "SELECT `id` AS `The Id`, 'FROM (SELECT' AS text FROM orders WHERE customer IS DISTINCT FROM 'x'",
}


@pytest.fixture
def shop(world: World) -> World:
    world.source("orders", ORDERS)
    world.source("customers", CUSTOMERS)
    return world


def explained(world: World, table: str, *changed: str) -> ExplainedChange:
    return Pipeline.load(world.yaml).explain_change(table, changed)


def run_as_shown(spark: Any, world: World, told: ExplainedChange, query: str) -> None:
    """Makes empty views of the names that are shown, and runs what is shown."""
    views: list[str] = []

    def view(name: str, frame: Any) -> None:
        frame.createOrReplaceTempView(name)
        views.append(name)

    try:
        for one in told.inputs:
            schema = world.outside.load_table(one.ref.identifier).schema()
            rows = StructType.fromJson(spark_schema(schema, one.ref.identifier, by_id=False))
            for name in (one.before, one.after):
                if name is not None:
                    view(name, spark.createDataFrame([], rows))
            if one.changes is not None:
                weighted = StructType([*rows.fields, StructField("__trickle_weight", LongType())])
                view(one.changes, spark.createDataFrame([], weighted))
            # The query itself, for the columns of what is published.
            view(one.ref.name, spark.createDataFrame([], rows))
        view(told.published, spark.createDataFrame([], spark.sql(query).schema))
        for step in told.steps:
            view(step.name, spark.sql(step.sql))
        assert told.change is not None
        change = spark.sql(told.change)
        assert change.columns[-1] == "__trickle_weight"
        change.collect()
    finally:
        for name in views:
            spark.catalog.dropTempView(name)


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_shown_runs_as_it_stands(shop: World, spark: Any, name: str) -> None:
    shop.define({name: SHAPES[name]})
    told = explained(shop, name)
    assert told.full_because is None
    run_as_shown(spark, shop, told, SHAPES[name])
    assert "trickle_" not in "".join(step.sql for step in told.steps).replace("__trickle_", "")


def test_the_change_of_groups_is_shown_step_by_step(shop: World) -> None:
    shop.define({"big": SHAPES["big"]})
    told = explained(shop, "big")
    assert [(one.before, one.after, one.changes) for one in told.inputs] == [
        ("orders_before", "orders_after", "orders_changes")
    ]
    assert [(step.name, step.about, step.kept) for step in told.steps] == [
        ("keys_1", "the keys of the changed rows", True)
    ]
    assert told.steps[0].sql == "SELECT DISTINCT customer AS `__trickle_k0`\nFROM orders_changes AS orders"
    assert told.change == (
        "SELECT *, CAST(1 AS BIGINT) AS __trickle_weight\n"
        "FROM (\n"
        "  SELECT customer\n"
        "  FROM orders_after AS orders\n"
        "  WHERE (EXISTS (\n"
        "    SELECT 1\n"
        "    FROM keys_1\n"
        "    WHERE `__trickle_k0` <=> (customer)))\n"
        "  GROUP BY customer\n"
        "  HAVING count(*) > 3)\n"
        "UNION ALL\n"
        "SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight\n"
        "FROM (\n"
        "  SELECT *\n"
        "  FROM published AS __trickle_p\n"
        "  WHERE EXISTS (\n"
        "    SELECT 1\n"
        "    FROM keys_1\n"
        "    WHERE `__trickle_k0` <=> __trickle_p.`customer`))"
    )


def test_only_the_inputs_that_changed_have_a_state_before(shop: World) -> None:
    shop.define({"joined": SHAPES["joined"]})
    told = explained(shop, "joined", "Default.Orders")
    assert [(one.before, one.after, one.changes) for one in told.inputs] == [
        (None, "customers_after", None),
        ("orders_before", "orders_after", "orders_changes"),
    ]
    assert told.change == (
        "SELECT o.id, c.country, __trickle_weight AS __trickle_weight\n"
        "FROM orders_changes AS o LEFT JOIN customers_after AS c ON c.name = o.customer"
    )


def test_names_that_the_query_uses_are_not_given_to_states(shop: World) -> None:
    shop.define({"taken": SHAPES["taken"]})
    told = explained(shop, "taken")
    assert (told.inputs[0].before, told.inputs[0].after, told.published) == (
        "orders_before_2",
        "orders_after",
        "published_2",
    )


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT id, rand() AS r FROM orders", "AUTO: full because rand() answers differently on every run"),
        (
            "SELECT to_json(struct(orders.*)) AS j FROM orders",
            "AUTO: full because a star inside a function is recomputed in full",
        ),
    ],
)
def test_what_is_computed_in_full_says_why(shop: World, query: str, why: str) -> None:
    shop.define({"s": query})
    told = explained(shop, "s")
    assert (told.full_because or "").startswith(why)
    assert told.change is None


def test_an_input_that_the_query_does_not_read(shop: World) -> None:
    shop.define({"joined": SHAPES["joined"]})
    with pytest.raises(UnknownInput) as caught:
        explained(shop, "joined", "orders", "oders")
    assert str(caught.value) == (
        "Stream table 'joined' does not read 'oders', so it cannot be said to have changed. It reads: customers, "
        "orders."
    )


def test_an_input_without_columns_yet(shop: World) -> None:
    shop.define({"a": "SELECT id FROM orders", "b": "SELECT id FROM a"})
    with pytest.raises(SourceMissing) as caught:
        explained(shop, "b")
    assert str(caught.value) == (
        f"{shop.yaml}:6:3: the columns of 'a' (default.a) are not known, since catalog 'trickle' does not have it. "
        f"Refresh it once with `trickle run`, then ask again."
    )


def test_nothing_is_published_and_no_file_is_read(shop: World) -> None:
    shop.append("orders", {"id": 1, "customer": "ann", "amount": None})
    for file in Path(shop.folder / "warehouse").rglob("*.parquet"):
        file.unlink()
    before = shop.files()
    shop.define({"totals": SHAPES["totals"]})
    assert explained(shop, "totals").change is not None
    assert shop.files() == before


@pytest.mark.parametrize("query", [*SHAPES.values(), *QUERIES.values()])
def test_laying_out_changes_blanks_only(query: str) -> None:
    assert "".join(laid_out(query).split()) == "".join(query.split())
    assert laid_out(laid_out(query)) == laid_out(query)
