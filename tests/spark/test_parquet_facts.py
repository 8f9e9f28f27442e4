"""What reading and writing Iceberg files relies on in Spark; if one fails, look at lakehouse/ first."""

from __future__ import annotations

import decimal
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T

from airflow_trickle.spark.active import configured


def column(name: str, kind: T.DataType, number: int) -> T.StructField:
    return T.StructField(name, kind, True, {"parquet.field.id": number})


def ids(path: Path) -> dict[str, str]:
    found = pq.read_schema(path)
    return {field.name: (field.metadata or {}).get(b"PARQUET:field_id", b"").decode() for field in found}


def written(folder: Path) -> Path:
    (found,) = folder.glob("*.parquet")
    return found


@pytest.fixture
def old_file(tmp_path) -> str:
    """Columns a (id 1), f (id 2), d (id 3)."""
    arrays = {
        "a": pa.array([1], pa.int32()),
        "f": pa.array([1.5], pa.float32()),
        "d": pa.array([decimal.Decimal("3.25")], pa.decimal128(9, 2)),
    }
    schema = pa.schema(
        [
            pa.field(name, array.type, metadata={"PARQUET:field_id": str(number)})
            for number, (name, array) in enumerate(arrays.items(), 1)
        ]
    )
    pq.write_table(pa.table(arrays, schema), tmp_path / "old.parquet")
    return str(tmp_path / "old.parquet")


def test_metadata_of_an_alias_becomes_a_field_id(spark, tmp_path):
    frame = spark.sql("SELECT 1 AS a, 'x' AS b, named_struct('c', 1) AS s")
    nested = T.StructType([column("c", T.IntegerType(), 4)])
    frame.select(
        F.col("a").alias("a", metadata={"parquet.field.id": 1}),
        F.col("b"),
        F.col("s").cast(nested).alias("s", metadata={"parquet.field.id": 3}),
    ).coalesce(1).write.parquet(str(tmp_path / "out"))
    file = written(tmp_path / "out")
    assert ids(file) == {"a": "1", "b": "", "s": "3"}
    assert "field_id=4 c" in str(pq.ParquetFile(file).schema)


def test_to_does_not_mark_a_column_that_needs_no_cast(spark, tmp_path):
    schema = T.StructType([column("a", T.IntegerType(), 1)])
    spark.sql("SELECT 1 AS a").coalesce(1).to(schema).write.parquet(str(tmp_path / "out"))
    assert ids(written(tmp_path / "out")) == {"a": ""}, "so use alias(metadata=…) or withMetadata"


def test_columns_are_found_by_id_and_widened(spark, old_file):
    schema = T.StructType(
        [
            column("renamed", T.LongType(), 1),
            column("wide", T.DoubleType(), 2),
            column("exact", T.DecimalType(38, 2), 3),
            column("gone", T.StringType(), 99),
        ]
    )
    assert spark.read.schema(schema).parquet(old_file).collect() == [(1, 1.5, decimal.Decimal("3.25"), None)]


def test_a_name_that_meant_another_column_takes_its_type(spark, old_file):
    """Spark finds the column by id, but takes the type to read it with from the field of the same name."""
    swapped = T.StructType([column("b", T.IntegerType(), 1), column("a", T.StringType(), 99)])
    with pytest.raises(Exception, match=r"PARQUET_COLUMN_DATA_TYPE_MISMATCH.*\[a\]"):
        spark.read.schema(swapped).parquet(old_file).collect()
    unique = T.StructType([column("_1", T.LongType(), 1), column("_99", T.StringType(), 99)])
    assert spark.read.schema(unique).parquet(old_file).toDF("b", "a").collect() == [(1, None)]


def test_a_file_without_ids_fails_instead_of_being_null(spark, tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "plain.parquet")
    by_id = spark.read.schema(T.StructType([column("a", T.LongType(), 1)]))
    with pytest.raises(Exception, match=r"Encountered error while reading file"):
        by_id.parquet(str(tmp_path / "plain.parquet")).collect()
    by_name = spark.read.schema(T.StructType([T.StructField("A", T.LongType())]))
    assert by_name.parquet(str(tmp_path / "plain.parquet")).collect() == [(1,)]


def escaped(path: str) -> str:
    return "".join("\\" + letter if letter in "\\[]{}*?" else letter for letter in path)


@pytest.mark.parametrize(
    "name", ["sp ace", "br[a]ck", "eq=1", "pct%20x", "ha#sh", "q?", "st*r", "c{a,b}", "b\\s", "ü+:"]
)
def test_paths_are_patterns_and_file_paths_are_quoted(spark, tmp_path, name):
    path = tmp_path / name / "f.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"i": pa.array([1], pa.int32())}), path)
    frame = spark.read.schema("i int").parquet(escaped(str(path)))
    (row,) = frame.select("i", F.col("_metadata.file_path").alias("path")).collect()
    assert row.i == 1
    assert unquote(row.path) == f"file:{path}"
    if set(name) & set("[{\\"):
        # There is an option __globPaths__=false inside Spark, but it is not heard here.
        with pytest.raises(Exception, match="PATH_NOT_FOUND"):
            spark.read.schema("i int").option("__globPaths__", "false").parquet(str(path)).collect()


def test_observe_counts_in_the_write(spark, tmp_path):
    seen = Observation()
    count, total = F.count(F.lit(1)).alias("n"), F.sum("id").alias("total")
    spark.range(10).observe(seen, count, total).write.parquet(str(tmp_path / "a"))
    assert seen.get == {"n": 10, "total": 45}
    nothing = Observation()
    spark.range(0).observe(nothing, count, total).write.parquet(str(tmp_path / "b"))
    assert nothing.get == {"n": 0, "total": None}
    skipped = Observation()  # an adapted plan shows that the join is empty, so what was observed is never run
    with configured(spark, {"spark.sql.adaptive.enabled": "true"}, put_back=True):
        spark.range(10).observe(skipped, count).join(spark.range(0), "id").write.parquet(str(tmp_path / "c"))
    assert skipped.get == {}


@pytest.mark.parametrize("value", ["map('b', 2, 'a', 1)", "array(1)", "struct(1)", "X'01'", "double('NaN')", "-0.0d"])
def test_what_can_be_grouped(spark, value):
    rows = spark.sql(f"SELECT k, count(*) n FROM (SELECT {value} k FROM range(3)) GROUP BY k").collect()
    assert [row.n for row in rows] == [3]


def test_what_is_equal_and_what_cannot_be_grouped(spark):
    values = "(0.0d), (-0.0d), (double('NaN')), (double('NaN')), (NULL), (NULL)"
    rows = spark.sql(f"SELECT k, count(*) n FROM VALUES {values} t(k) GROUP BY k").collect()
    assert sorted(row.n for row in rows) == [2, 2, 2]
    maps = "(map('a', 1, 'b', 2)), (map('b', 2, 'a', 1))"
    assert spark.sql(f"SELECT k, count(*) n FROM VALUES {maps} t(k) GROUP BY k").collect()[0].n == 2
    with pytest.raises(Exception, match="SET_OPERATION_ON_MAP_TYPE"):
        spark.sql("SELECT DISTINCT map('a', 1)").collect()
    with pytest.raises(Exception, match="GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE"):
        spark.sql("SELECT parse_json('1') k GROUP BY k").collect()
