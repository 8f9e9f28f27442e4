"""Conditions that follow from a change: they are in the SQL where they hold, and nowhere else."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from airflow_trickle.blocks.shapes import NotInBlocks
from tests.engine.delta.judge import Case, Rows, change

T = StructType([StructField("k", IntegerType()), StructField("v", IntegerType())])
U = StructType([StructField("k", IntegerType()), StructField("w", IntegerType()), StructField("big", LongType())])

BEFORE: Rows = {"t": [(1, 1), (2, 2), (500, 3), (None, 4)], "u": [(1, 10, 1), (2, 20, 2), (500, 30, 500)]}
#: Rows of t with key 2 come and go; u stays.
AFTER: Rows = {"t": [(1, 1), (2, 7), (500, 3), (None, 4)], "u": BEFORE["u"]}


def sql_of(spark: SparkSession, query: str, before: Rows = BEFORE, after: Rows = AFTER) -> str:
    """The SQL of the change, which is checked to be right."""
    case = Case(query, {"t": T, "u": U}, before, after)
    found, wanted = change(spark, case)
    assert found == wanted
    return " ".join([str(case.sql), *case.steps])


def within(column: str) -> str:
    return re.escape(f"({column} >= 2 AND {column} <= 2)")


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("SELECT t.v, u.w FROM t JOIN u ON t.k = u.k", "u.k"),
        ("SELECT t.v, u.w FROM t, u WHERE u.k = t.k AND u.w > 5", "u.k"),
        ("SELECT t.v, x.w FROM t JOIN u ON t.k = u.k JOIN u AS x ON x.k = u.k", "x.k"),
        ("SELECT t.v FROM t LEFT SEMI JOIN u ON t.k = u.k", "u.k"),
        ("SELECT t.v FROM t LEFT ANTI JOIN u ON u.k = t.k", "u.k"),
        ("SELECT u.w, t.v FROM u LEFT JOIN t ON t.k = u.k", "u.k"),
        ("SELECT w FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.k = u.k)", "u.k"),
        ("SELECT w FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = u.k AND v > 1)", "`k`"),
        ("SELECT v FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", "`k`"),
        ("SELECT w, (SELECT max(v) FROM t WHERE t.k = u.k) AS m FROM u", "u.k"),
        ("SELECT k, sum(v) AS s, collect_set(v) AS c FROM t GROUP BY k", "(k)"),
    ],
)
def test_a_range_of_changed_keys_is_said_of_their_partners(spark: SparkSession, query: str, column: str) -> None:
    assert re.search(within(column), sql_of(spark, query)), query


@pytest.mark.parametrize(
    "query",
    [
        # Rows of u without a partner are part of the result.
        "SELECT t.v, u.w FROM t RIGHT JOIN u ON t.k = u.k",
        "SELECT t.v, u.w FROM t FULL JOIN u ON t.k = u.k",
        # Only one of the two has to hold.
        "SELECT t.v, u.w FROM t JOIN u ON t.k = u.k OR t.v = u.w",
        # Other types compare by other rules.
        "SELECT t.v, u.w FROM t JOIN u ON t.k = u.big",
        # Not an equality of two columns.
        "SELECT t.v, u.w FROM t JOIN u ON t.k = u.k + 0",
        "SELECT t.v, u.w FROM t JOIN u ON t.k <=> u.k",
    ],
)
def test_where_a_range_does_not_follow_nothing_is_said(spark: SparkSession, query: str) -> None:
    assert not re.search(r">= 2 AND", sql_of(spark, query)), query


def test_a_null_among_the_changed_keys_is_no_partner_but_is_a_group(spark: SparkSession) -> None:
    after: Rows = {"t": [*BEFORE["t"], (None, 9), (2, 9)], "u": BEFORE["u"]}
    joined = sql_of(spark, "SELECT t.v, u.w FROM t JOIN u ON t.k = u.k", after=after)
    assert "IS NULL" not in joined
    grouped = sql_of(spark, "SELECT k, collect_set(v) AS c, sum(v) AS s FROM t GROUP BY k", after=after)
    assert "OR (k) IS NULL" in grouped


#: New rows of both tables, which meet each other and nothing old; keys that are NULL meet nothing at all.
GROWN: Rows = {"t": [*BEFORE["t"], (900, 1), (901, 2), (None, 5)], "u": [*BEFORE["u"], (900, 11, 1), (None, 12, 2)]}


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("SELECT t.v, u.w FROM t JOIN u ON t.k = u.k", 1),
        ("SELECT t.v, u.w FROM t, u WHERE u.k = t.k", 1),
        ("SELECT t.v, u.w FROM t LEFT JOIN u ON t.k = u.k", 1),
        ("SELECT t.v FROM t LEFT ANTI JOIN u ON u.k = t.k", 1),
        ("SELECT t.v FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", 1),
        ("SELECT t.v, (SELECT max(w) FROM u WHERE u.k = t.k) AS m FROM t", 1),
        # Here a row of before may meet what is new.
        ("SELECT t.v, u.w FROM t JOIN u ON t.k = u.k OR t.k = u.w", 2),
        ("SELECT t.v, u.w FROM t JOIN u ON t.k <= u.k", 2),
        ("SELECT t.v FROM t WHERE t.k NOT IN (SELECT u.k FROM u)", 3),
    ],
)
def test_terms_that_by_the_metadata_have_no_rows_are_left_out(spark: SparkSession, query: str, terms: int) -> None:
    case = Case(query, {"t": T, "u": U}, BEFORE, GROWN)
    found, wanted = change(spark, case)
    assert found == wanted
    assert str(case.sql).count(" UNION ALL ") == terms - 1, case.sql


def test_terms_are_left_out_only_if_the_other_side_cannot_meet_them(spark: SparkSession) -> None:
    late = {"t": [*BEFORE["t"], (900, 1), (2, 9)], "u": [*BEFORE["u"], (900, 11, 1)]}
    case = Case("SELECT t.v, u.w FROM t JOIN u ON t.k = u.k", {"t": T, "u": U}, BEFORE, late)
    found, wanted = change(spark, case)
    assert found == wanted
    assert (9, 20) in wanted
    # An old row of u that goes meets the old rows of t.
    gone = {"t": GROWN["t"], "u": GROWN["u"][1:]}
    case = Case("SELECT t.v, u.w FROM t LEFT JOIN u ON t.k = u.k", {"t": T, "u": U}, BEFORE, gone)
    found, wanted = change(spark, case)
    assert found == wanted
    assert (1, None) in wanted


STRUCT = StructType([StructField("k", IntegerType()), StructField("t", T)])


@pytest.mark.parametrize(
    "subquery",
    [
        "SELECT 1 FROM u JOIN u AS t(k, w, big) ON true WHERE u.k = t.k",
        "SELECT 1 FROM u JOIN (SELECT k FROM u) AS t(k) ON true WHERE u.k = t.k",
        "SELECT 1 FROM u LATERAL VIEW explode(array(1, 2)) t AS k WHERE u.k = t.k",
        "SELECT 1 FROM s WHERE s.k = t.k",
    ],
)
def test_a_name_inside_a_subquery_is_not_taken_for_one_outside(spark: SparkSession, subquery: str) -> None:
    query = f"SELECT t.v FROM t WHERE EXISTS ({subquery})"
    types = {"t": T, "u": U, "s": STRUCT}
    before: Rows = {"t": [(5, 5)], "u": [(1, 10, 1)], "s": [(2, (2, 1)), (9, (3, 1))]}
    for after in (
        {**before, "t": [(5, 5), (77, 7)]},
        {**before, "s": [(9, (3, 1))]},
        {**before, "s": [(9, (3, 1)), (4, (4, 4))], "u": [(1, 10, 1), (2, 20, 2)]},
    ):
        found, wanted = change(spark, Case(query, types, before, after))
        assert found == wanted, (subquery, after)


def test_a_changed_subquery_in_on_of_an_outer_join_is_refused(spark: SparkSession) -> None:
    query = "SELECT t.k, u.w FROM t LEFT JOIN u ON t.k = u.k AND EXISTS (SELECT 1 FROM s WHERE s.k = u.k)"
    before: Rows = {"t": [(1, 1)], "u": [(1, 7, 1)], "s": []}
    after: Rows = {**before, "s": [(1, (1, 1))]}
    with pytest.raises(NotInBlocks, match="a subquery in ON of a join that is not an inner one"):
        change(spark, Case(query, {"t": T, "u": U, "s": STRUCT}, before, after))
