"""Columns on both sides: what Spark says in JSON and what Iceberg stores."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.lakehouse.columns import has_collections, iceberg_schema, same_columns, spark_schema


def spark(**columns: Any) -> dict[str, Any]:
    """The JSON that Spark's ``StructType.jsonValue()`` gives for some columns."""
    return {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()],
    }


def array_of(kind: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": True}


def map_of(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def ids(schema: Schema) -> dict[str, int]:
    return {name: schema.find_field(name).field_id for name in schema.column_names}


BOTH_WAYS: list[tuple[str, IcebergType]] = [
    ("boolean", BooleanType()),
    ("integer", IntegerType()),
    ("long", LongType()),
    ("float", FloatType()),
    ("double", DoubleType()),
    ("decimal(10,2)", DecimalType(10, 2)),
    ("decimal(38,38)", DecimalType(38, 38)),
    ("decimal(1,0)", DecimalType(1, 0)),
    ("date", DateType()),
    # Spark's plain TIMESTAMP is a moment; TIMESTAMP_NTZ is a reading of the clock on the wall.
    ("timestamp", TimestamptzType()),
    ("timestamp_ntz", TimestampType()),
    ("string", StringType()),
    ("binary", BinaryType()),
]


@pytest.mark.parametrize(("name", "kind"), BOTH_WAYS, ids=str)
def test_a_simple_type_goes_both_ways(name: str, kind: IcebergType) -> None:
    schema = iceberg_schema(spark(x=name), None, 0)
    assert schema.fields == (NestedField(1, "x", kind, required=False),)
    assert spark_schema(schema, "default.t", by_id=False) == spark(x=name)


@pytest.mark.parametrize("name", ["byte", "short"])
def test_small_integers_become_integers(name: str) -> None:
    assert iceberg_schema(spark(x=name), None, 0).find_type("x") == IntegerType()


def test_a_fixed_column_of_a_source_is_binary_to_spark() -> None:
    schema = Schema(NestedField(4, "x", FixedType(16), required=True))
    assert spark_schema(schema, "default.t", by_id=False) == spark(x="binary")


def test_field_ids_travel_in_the_metadata_of_every_struct_field() -> None:
    schema = Schema(
        NestedField(7, "a", LongType(), required=True),
        NestedField(3, "s", StructType(NestedField(9, "b", DateType(), required=True)), required=False),
    )
    assert spark_schema(schema, "default.t") == {
        "type": "struct",
        "fields": [
            {"name": "a", "type": "long", "nullable": True, "metadata": {"parquet.field.id": 7}},
            {
                "name": "s",
                "type": {
                    "type": "struct",
                    "fields": [{"name": "b", "type": "date", "nullable": True, "metadata": {"parquet.field.id": 9}}],
                },
                "nullable": True,
                "metadata": {"parquet.field.id": 3},
            },
        ],
    }


def test_nested_types_go_both_ways_and_every_part_has_its_own_id() -> None:
    given_schema = spark(
        id="long",
        tags=array_of("string"),
        address=spark(street="string", history=array_of(spark(since="date", by=array_of("decimal(12,4)")))),
    )
    schema = iceberg_schema(given_schema, None, 10)
    assert spark_schema(schema, "default.t", by_id=False) == given_schema
    found = sorted(schema._lazy_id_to_name)
    assert len(set(found)) == len(found) == 10
    assert min(found) == 11
    assert isinstance(schema.find_type("tags"), ListType)


def test_a_map_of_a_source_is_read_but_not_stored() -> None:
    source = Schema(
        NestedField(1, "prices", MapType(2, StringType(), 3, DecimalType(12, 4), value_required=True), required=False)
    )
    described = spark_schema(source, "default.t", by_id=False)
    assert described == spark(prices=map_of("string", "decimal(12,4)"))
    with pytest.raises(UnsupportedTable) as caught:
        iceberg_schema(described, None, 0)
    assert str(caught.value) == (
        "column 'prices' has type map, which this version does not compare exactly. "
        "Use map_entries(…) for an array of structs."
    )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "void",
            "column 'x' has type void, which an Iceberg table cannot hold. Give NULL a type: CAST(NULL AS STRING).",
        ),
        ("interval", "column 'x' has type interval, which an Iceberg table cannot hold. CAST it to another type."),
        (
            "interval day to second",
            "column 'x' has type interval day to second, which an Iceberg table cannot hold. CAST it to another type.",
        ),
        (
            "interval year to month",
            "column 'x' has type interval year to month, which an Iceberg table cannot hold. CAST it to another type.",
        ),
        ("variant", "column 'x' has type variant, which an Iceberg table cannot hold. CAST it to another type."),
        (
            {"type": "udt", "class": "org.example.Point", "sqlType": "string"},
            "column 'x' has type udt, which an Iceberg table cannot hold. CAST it to another type.",
        ),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_type_that_iceberg_cannot_hold_is_refused(kind: Any, message: str) -> None:
    nested = (
        array_of(kind),
        spark(inner=kind),
        spark(inner=array_of(spark(more=kind))),
    )
    for given_type in (kind, *nested):
        with pytest.raises(UnsupportedTable) as caught:
            iceberg_schema(spark(fine="long", x=given_type), None, 0)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("kind", "name"),
    [(UUIDType(), "uuid"), (TimeType(), "time"), (TimestampNanoType(), "timestamp_ns")],
    ids=str,
)
def test_a_type_that_spark_cannot_read_is_refused(kind: IcebergType, name: str) -> None:
    schema = Schema(NestedField(1, "s", StructType(NestedField(2, "x", kind, required=False)), required=False))
    with pytest.raises(UnsupportedTable) as caught:
        spark_schema(schema, "default.t")
    assert str(caught.value) == (
        f"Table default.t, column s, column x: Iceberg type {name} is not one that Spark's Parquet reader reads."
    )


@pytest.mark.parametrize("second", ["amount", "AMOUNT"])
def test_two_columns_of_one_name_are_refused(second: str) -> None:
    twice = spark(amount="long")
    twice["fields"] += spark(**{second: "string"})["fields"]
    with pytest.raises(UnsupportedTable) as caught:
        iceberg_schema(twice, None, 0)
    assert str(caught.value) == (f"the query has two columns named '{second}'. Give one of them another name with AS.")


def test_two_fields_of_one_name_in_a_struct_are_refused_too() -> None:
    twice = spark(a="long")
    twice["fields"] += spark(a="string")["fields"]
    with pytest.raises(UnsupportedTable) as caught:
        iceberg_schema(spark(s=array_of(twice)), None, 0)
    assert str(caught.value) == "column 's' has two fields named 'a'. Give one of them another name with AS."


@pytest.mark.parametrize("column", ["a.b", "größe", "with space", "日本", "select", "a`b", "__x"])
def test_any_name_is_kept_as_it_is(column: str) -> None:
    schema = iceberg_schema(spark(**{column: "long"}), None, 0)
    assert [field.name for field in schema.fields] == [column]
    assert spark_schema(schema, "default.t", by_id=False) == spark(**{column: "long"})


OLD = Schema(
    NestedField(1, "id", IntegerType(), required=False),
    NestedField(2, "name", StringType(), required=False),
    NestedField(3, "price", DecimalType(10, 2), required=False),
    NestedField(4, "rate", FloatType(), required=False),
    NestedField(5, "tags", ListType(6, StringType(), element_required=False), required=False),
)
OLD_SPARK = spark(id="integer", name="string", price="decimal(10,2)", rate="float", tags=array_of("string"))


def changed(**columns: Any) -> dict[str, Any]:
    fields = {field["name"]: field["type"] for field in OLD_SPARK["fields"]} | columns
    return spark(**{name: kind for name, kind in fields.items() if kind is not None})


def test_the_same_columns_keep_everything() -> None:
    assert same_columns(iceberg_schema(OLD_SPARK, OLD, 6), OLD)


@pytest.mark.parametrize(
    ("column", "wider", "kind"),
    [
        ("id", "long", LongType()),
        ("rate", "double", DoubleType()),
        ("price", "decimal(12,2)", DecimalType(12, 2)),
        ("price", "decimal(38,2)", DecimalType(38, 2)),
    ],
)
def test_a_wider_type_keeps_the_field_id(column: str, wider: str, kind: IcebergType) -> None:
    schema = iceberg_schema(changed(**{column: wider}), OLD, 6)
    assert schema.find_type(column) == kind
    assert ids(schema) == ids(OLD)
    assert not same_columns(schema, OLD)


@pytest.mark.parametrize(
    ("column", "other"),
    [
        ("id", "string"),
        ("id", "double"),
        ("id", "decimal(10,0)"),
        ("rate", "integer"),
        ("price", "decimal(8,2)"),
        # Another scale would read the old files' digits as other numbers.
        ("price", "decimal(12,4)"),
        ("price", "decimal(10,1)"),
        ("price", "double"),
        # Iceberg has no such promotion, although pyiceberg's reader does it.
        ("name", "binary"),
        ("name", "date"),
        ("tags", "string"),
        ("tags", array_of("binary")),
        ("tags", array_of(array_of("string"))),
        ("id", spark(id="integer")),
    ],
    ids=str,
)
def test_any_other_type_gets_a_new_field_id(column: str, other: Any) -> None:
    schema = iceberg_schema(changed(**{column: other}), OLD, 6)
    assert schema.find_field(column).field_id > 6
    unchanged = [field.name for field in OLD.fields if field.name != column]
    assert all(schema.find_field(name) == OLD.find_field(name) for name in unchanged)
    every = sorted(schema._lazy_id_to_name)
    assert len(every) == len(set(every))


def test_a_narrower_type_gets_a_new_field_id() -> None:
    old = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "x", DoubleType(), required=False))
    assert ids(iceberg_schema(spark(id="integer", x="float"), old, 2)) == {"id": 3, "x": 4}


def test_a_column_dropped_and_added_again_gets_a_new_field_id() -> None:
    without = iceberg_schema(changed(name=None), OLD, 6)
    assert ids(without) == {name: number for name, number in ids(OLD).items() if name != "name"}
    again = iceberg_schema(OLD_SPARK, without, 6)
    assert ids(again) == ids(OLD) | {"name": 7}


def test_reordered_columns_keep_their_field_ids_but_are_a_change() -> None:
    turned = {"type": "struct", "fields": OLD_SPARK["fields"][::-1]}
    schema = iceberg_schema(turned, OLD, 6)
    assert [field.name for field in schema.fields] == ["tags", "rate", "price", "name", "id"]
    assert ids(schema) == ids(OLD)
    assert not same_columns(schema, OLD)


def test_a_column_that_only_changed_the_case_of_its_name_is_another_column() -> None:
    schema = iceberg_schema(spark(ID="integer"), OLD, 6)
    assert ids(schema) == {"ID": 7}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("long", False),
        (spark(a="long"), False),
        (array_of("long"), True),
        (spark(a=spark(b=array_of("long"))), True),
    ],
    ids=str,
)
def test_collections_are_found_at_any_depth(kind: Any, expected: bool) -> None:
    assert has_collections(iceberg_schema(spark(x="long", y=kind), None, 0)) is expected


simple = st.sampled_from([name for name, _ in BOTH_WAYS] + ["byte", "short"]) | st.builds(
    lambda precision, data: f"decimal({precision},{data % (precision + 1)})", st.integers(1, 38), st.integers(0, 38)
)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)


def _struct(kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    fields = st.lists(st.tuples(names, kinds), min_size=1, max_size=4, unique_by=lambda field: field[0].lower())
    return fields.map(lambda pairs: spark(**dict(pairs)))


kinds = st.recursive(
    simple,
    lambda inner: inner.map(array_of) | _struct(inner),
    max_leaves=8,
)


def widened(kind: Any) -> Any:
    """What Iceberg makes of the two types that it does not have."""
    if isinstance(kind, dict):
        return {key: widened(value) if key != "name" else value for key, value in kind.items()}
    if isinstance(kind, list):
        return [widened(each) for each in kind]
    return "integer" if kind in ("byte", "short") else kind


@given(_struct(kinds), st.integers(0, 1000))
def test_any_schema_goes_to_iceberg_and_back(given_schema: dict[str, Any], last_id: int) -> None:
    schema = iceberg_schema(given_schema, None, last_id)
    assert spark_schema(schema, "default.t", by_id=False) == widened(given_schema)
    assert min(schema._lazy_id_to_name) == last_id + 1
    # Asked again, the same query changes nothing.
    assert same_columns(iceberg_schema(given_schema, schema, schema.highest_field_id), schema)


@given(_struct(kinds), _struct(kinds))
def test_no_field_id_is_ever_given_twice(first: dict[str, Any], second: dict[str, Any]) -> None:
    old = iceberg_schema(first, None, 0)
    new = iceberg_schema(second, old, old.highest_field_id)
    for number in new._lazy_id_to_name:
        if number <= old.highest_field_id:
            # A reused id still means the same place in the table.
            assert new.find_column_name(number) == old.find_column_name(number)
