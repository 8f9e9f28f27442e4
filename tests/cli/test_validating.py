"""``trickle validate --catalog``: every query over the columns of the catalog."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.conftest import Shell

ORDERS = pa.schema([("id", pa.int64()), ("customer", pa.string()), ("amount", pa.int32()), ("day", pa.date32())])
EDGES = pa.schema([("src", pa.int64()), ("dst", pa.int64())])

SHOP = """\
pipeline: shop
sources: [orders, ordres]
stream_tables:
  misspelt:
    query: |
      SELECT id,
             custommer
      FROM orders
  ungrouped:
    query: SELECT customer, amount, count(*) AS n FROM orders GROUP BY customer
  folded:
    query: >
      SELECT id,
      amount > day AS nonsense
      FROM orders
  in_a_file:
    query_file: in_a_file.sql
  twice:
    query: SELECT id, customer, amount AS ID, NULL AS nothing, amount AS __trickle_x FROM orders
  lost:
    query: SELECT * FROM ordres
  reads_lost:
    query: SELECT id FROM lost
  reads_misspelt:
    query: SELECT m.id FROM misspelt m JOIN orders o ON o.id = m.id
  parted:
    query: SELECT id, customer FROM orders
    partition_by: [dya]
  averages:
    refresh_mode: DIFFERENTIAL
    query: |
      SELECT a.customer, a.m + 1 AS m
      FROM (SELECT customer, avg(amount / 3D) AS m FROM orders GROUP BY customer) a
  maybe:
    query: |
      SELECT a.customer, a.m + 1 AS m
      FROM (SELECT customer, avg(amount / 3D) AS m FROM orders GROUP BY customer) a
  good:
    query: SELECT customer, sum(amount) AS amount FROM orders GROUP BY customer
  better:
    refresh_mode: DIFFERENTIAL
    query: SELECT customer FROM good WHERE amount > 3
  taken:
    query: SELECT id FROM orders
"""

CYCLES = """\
pipeline: ways
allow_circular: true
sources: [edges]
stream_tables:
  a:
    query: |
      SELECT src, dst FROM edges
      UNION SELECT a.src, b.dst FROM a JOIN b ON a.dst = b.srcc
  b:
    query: SELECT src, dst FROM a UNION SELECT dst, src FROM edges
  reach:
    query: |
      WITH RECURSIVE r AS (
        SELECT src, dst FROM edges
        UNION SELECT r.src, e.dsst FROM r JOIN edges e ON e.src = r.dst
      )
      SELECT src, dst FROM r
  even_odd:
    query: |
      WITH RECURSIVE even AS (
        SELECT dst AS n FROM edges UNION SELECT e.src AS n FROM odd JOIN edges e ON e.dst = odd.m
      ), odd AS (
        SELECT e.src AS n FROM even JOIN edges e ON e.dst = even.n
      )
      SELECT n FROM even
  fine:
    query: WITH RECURSIVE r AS (SELECT src FROM edges UNION SELECT src + 1 FROM r WHERE src < 9) SELECT src FROM r
  after_fine:
    query: SELECT src AS s, dstt FROM fine
"""


@pytest.fixture
def shop(shell: Shell) -> Shell:
    shell.source("orders", [], ORDERS)
    shell.source("edges", [], EDGES)
    return shell


def unresolved(name: str, *others: str) -> str:
    near = ", ".join(others)
    return (
        f"Spark does not accept its query: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function "
        f"parameter with name {name} cannot be resolved. Did you mean one of the following? [{near}]. SQLSTATE: 42703"
    )


def test_every_problem_of_every_table_is_told_with_its_place(shop: Shell, spark_home: Path) -> None:
    shop.write("dags/shop.yaml", SHOP)
    shop.write("dags/in_a_file.sql", "-- a comment\nSELECT id,\n  cuont(customer) AS n\nFROM orders GROUP BY id\n")
    shop.write("dags/ways.yaml", CYCLES)
    shop.source("taken", [], EDGES)
    shop.write("dags/broken.yaml", "pipeline: broken\nstream_tables:\n  x:\n    quary: SELECT 1\n")

    outcome = shop("validate", "--catalog")

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.splitlines() == [
        "note: dags/shop.yaml:37:13: stream table 'maybe' is computed in full by every refresh, because avg() of "
        "floating-point numbers inside a query may come out otherwise each time.",
        next(line for line in outcome.err.splitlines() if "unknown key 'quary'" in line),
        "error: dags/in_a_file.sql:3:3: stream table 'in_a_file': Spark does not accept its query: "
        "[UNRESOLVED_ROUTINE] Cannot resolve routine `cuont` on search path [`system`.`builtin`, `system`.`session`, "
        "`spark_catalog`.`default`]. SQLSTATE: 42883",
        "error: dags/shop.yaml:2:19: source 'ordres' is the Iceberg table default.ordres, which catalog 'trickle' does "
        "not have. Did you mean default.orders? Create the table, or point the source elsewhere with "
        "`table: namespace.name`.",
        f"error: dags/shop.yaml:7:14: stream table 'misspelt': "
        f"{unresolved('`custommer`', '`customer`', '`amount`', '`day`', '`id`')}",
        "error: dags/shop.yaml:10:29: stream table 'ungrouped': Spark does not accept its query: [MISSING_AGGREGATION] "
        'The non-aggregating expression "amount" is based on columns which are not participating in the GROUP BY '
        "clause. Add the columns or the expression to the GROUP BY, aggregate the expression, or use "
        '"any_value(amount)" if you do not care which of the values within a group is returned. SQLSTATE: 42803',
        "error: dags/shop.yaml:14:7: stream table 'folded': Spark does not accept its query: "
        '[DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES] Cannot resolve "(amount > day)" due to data type mismatch: the left '
        'and right operands of the binary operator have incompatible types ("INT" and "DATE"). SQLSTATE: 42K09',
        "error: dags/shop.yaml:19:33: stream table 'twice' has two columns named 'ID'. Give one of them another name "
        "with AS.",
        "error: dags/shop.yaml:19:47: stream table 'twice': column 'nothing' has type void, which an Iceberg table "
        "cannot hold. Give NULL a type: CAST(NULL AS STRING).",
        "error: dags/shop.yaml:19:64: stream table 'twice': column '__trickle_x' begins with __trickle_, which is "
        "reserved. Give it another name with AS.",
        "error: dags/shop.yaml:26:3: stream table 'parted': partition_by: its result has no column 'dya'. It has: id, "
        "customer. Name one of these, or change partition_by.",
        "error: dags/shop.yaml:33:13: stream table 'averages' cannot be refreshed from changes, because avg() of "
        "floating-point numbers inside a query may come out otherwise each time. Set "
        "refresh_mode: AUTO to have it recomputed in full when needed.",
        "error: dags/shop.yaml:43:3: stream table 'taken': Table default.taken exists in the catalog and was not made "
        "by airflow-trickle; it is left alone. Give the stream table another name or namespace, or drop that table.",
        f"error: dags/ways.yaml:8:58: stream table 'a': "
        f"{unresolved('`b`.`srcc`', '`b`.`src`', '`a`.`src`', '`b`.`dst`', '`a`.`dst`')}",
        f"error: dags/ways.yaml:15:29: stream table 'reach': "
        f"{unresolved('`e`.`dsst`', '`e`.`dst`', '`r`.`dst`', '`e`.`src`', '`r`.`src`')}",
        f"error: dags/ways.yaml:21:93: stream table 'even_odd__even': "
        f"{unresolved('`odd`.`m`', '`odd`.`n`', '`e`.`dst`', '`e`.`src`')}",
        f"error: dags/ways.yaml:29:29: stream table 'after_fine': {unresolved('`dstt`', '`src`')}",
        "not checked: dags/shop.yaml:20:3: stream table 'lost' was not checked, because its input 'ordres' is missing.",
        "not checked: dags/shop.yaml:22:3: stream table 'reads_lost' was not checked, because its input 'lost' was not "
        "checked.",
        "not checked: dags/shop.yaml:24:3: stream table 'reads_misspelt' was not checked, because its input 'misspelt' "
        "has an error.",
        "not checked: dags/ways.yaml:9:3: stream table 'b' was not checked, because 'a', which it is in a cycle with, "
        "has an error.",
        "not checked: dags/ways.yaml:18:3: stream table 'even_odd' was not checked, because its input 'even_odd__even' "
        "has an error.",
        "not checked: dags/ways.yaml:18:3: stream table 'even_odd__odd' was not checked, because 'even_odd__even', "
        "which it is in a cycle with, has an error.",
    ]


GOOD = """\
pipeline: good
allow_circular: true
sources:
  orders: {}
  files: {format: csv, path: /nowhere, schema: "id BIGINT, note STRING"}
  unseen: {format: parquet, path: /nowhere}
stream_tables:
  daily:
    query: SELECT day, count(*) AS n, SUM(CAST(amount AS SMALLINT)) AS total FROM orders GROUP BY day
  busy:
    refresh_mode: DIFFERENTIAL
    query: WITH d AS (SELECT * FROM daily) SELECT d.day, d.total FROM d WHERE d.n > 1
  noted:
    query: SELECT o.id, f.note FROM orders o LEFT JOIN files f ON f.id = o.id
  up:
    query: SELECT id AS x FROM orders UNION SELECT x FROM down
  down:
    query: SELECT CAST(x / 2 AS BIGINT) AS x FROM up
"""
READER = """\
pipeline: reader
stream_tables:
  again:
    query: SELECT total + 1 AS more FROM busy
  {more}
"""


def test_queries_that_spark_accepts_are_valid_and_nothing_is_made(shop: Shell, spark_home: Path) -> None:
    shop.write("dags/good.yaml", GOOD)
    shop.write("dags/reader.yaml", READER.format(more=""))

    assert shop.ok("validate", "--catalog").out == (
        "2 pipelines with 6 stream tables: all valid, and Spark accepts every query over the columns of the catalog.\n"
    )
    assert shop.ok("validate", "--catalog", "--json").json == {
        "valid": True,
        "pipelines": ["good", "reader"],
        "warnings": [],
        "errors": [],
        "not_checked": [],
        "notes": [],
    }
    assert shop.ok("status", "--json").json == []

    shop.write("dags/reader.yaml", READER.format(more="last:\n    query: SELECT totall FROM again"))
    shop.write("dags/good.yaml", GOOD + "  unread:\n    query: SELECT id FROM unseen\n")
    outcome = shop("validate", "--catalog", "--json")
    assert (outcome.code, outcome.err) == (1, "")
    told = outcome.json
    assert [(one["file"], one["line"], one["column"]) for one in told["errors"]] == [("dags/reader.yaml", 6, 19)]
    assert (told["valid"], told["notes"]) == (False, [])
    assert told["not_checked"] == [
        {
            "file": "dags/good.yaml",
            "line": 19,
            "column": 3,
            "pipeline": "good",
            "table": "unread",
            "because": "its input 'unseen' was never captured, so that its columns are not known: run a tick first, or "
            "give its `schema`",
        }
    ]


def test_what_the_files_alone_tell_is_told_even_if_spark_cannot_be_asked(shop: Shell) -> None:
    shop.write("dags/good.yaml", READER.format(more="").replace("busy", "daily"))
    outcome = shop("validate", "--catalog", "--spark", "sc://127.0.0.1:1")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: dags/good.yaml:4:")


def test_spark_without_the_catalog_is_wrong_usage(shop: Shell) -> None:
    shop.write("dags/good.yaml", GOOD)
    outcome = shop("validate", "--spark", "embedded")
    assert outcome.code == 2
    assert "Spark is asked only with --catalog." in outcome.err
