"""Conditions that follow from a change: they are in the SQL where they hold, and nowhere else."""

from __future__ import annotations

import re

import pytest

from airflow_trickle.blocks.shapes import NotInBlocks
from tests.engine.delta.duckdb_judge import DuckDBJudge, Rows
from tests.engine.delta.golden import Table

TABLES = {
    "t": Table("t", {"k": "INT", "v": "INT"}),
    "u": Table("u", {"k": "INT", "w": "INT", "big": "BIGINT"}),
    "s": Table("s", {"k": "INT", "t": "STRUCT<k: INT, v: INT>"}),
    "p": Table("p", {"x": "INT", "y": "INT", "user": "INT"}),
}
#: The rows of p, which never change.
PARTNERS = [(1, 10, 1), (2, 20, 2), (500, 30, 500)]

BEFORE: Rows = {"t": [(1, 1), (2, 2), (500, 3), (None, 4)], "u": [(1, 10, 1), (2, 20, 2), (500, 30, 500)]}
#: Rows of t with key 2 come and go; u stays.
AFTER: Rows = {"t": [(1, 1), (2, 7), (500, 3), (None, 4)], "u": BEFORE["u"]}


@pytest.fixture(scope="module")
def judge() -> DuckDBJudge:
    return DuckDBJudge(TABLES)


def sql_of(judge: DuckDBJudge, query: str, before: Rows = BEFORE, after: Rows = AFTER) -> str:
    """The SQL of the change, which is checked to be right."""
    verdict = judge.judge(query, {"p": PARTNERS, **before}, {"p": PARTNERS, **after})
    assert verdict.found == verdict.wanted
    return " ".join([str(verdict.sql), *verdict.steps])


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
        # Columns by their names alone.
        ("SELECT v, y FROM t, p WHERE x = k AND y > 5", "x"),
        ("SELECT v, y FROM p JOIN t ON k = x", "x"),
        ("SELECT y, v FROM p LEFT JOIN t ON k = x", "x"),
        ("SELECT v FROM t WHERE NOT EXISTS (SELECT 1 FROM p WHERE x = k)", "`x`"),
        ("SELECT y FROM p WHERE EXISTS (SELECT 1 FROM t WHERE k = x)", "x"),
    ],
)
def test_a_range_of_changed_keys_is_said_of_their_partners(judge: DuckDBJudge, query: str, column: str) -> None:
    assert re.search(within(column), sql_of(judge, query)), query


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
        # The word may be a function, or a column of the inner query, or one of what is not known.
        "SELECT v FROM t JOIN p ON t.k = user",
        "SELECT v FROM t WHERE EXISTS (SELECT 1 FROM u WHERE k = k AND w > 5)",
        "SELECT v FROM t JOIN (SELECT x FROM p) ON x = k",
    ],
)
def test_where_a_range_does_not_follow_nothing_is_said(judge: DuckDBJudge, query: str) -> None:
    assert not re.search(r">= 2 AND", sql_of(judge, query)), query


def test_a_null_among_the_changed_keys_is_no_partner_but_is_a_group(judge: DuckDBJudge) -> None:
    after: Rows = {"t": [*BEFORE["t"], (None, 9), (2, 9)], "u": BEFORE["u"]}
    joined = sql_of(judge, "SELECT t.v, u.w FROM t JOIN u ON t.k = u.k", after=after)
    assert "IS NULL" not in joined
    grouped = sql_of(judge, "SELECT k, collect_set(v) AS c, sum(v) AS s FROM t GROUP BY k", after=after)
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
def test_terms_that_by_the_metadata_have_no_rows_are_left_out(judge: DuckDBJudge, query: str, terms: int) -> None:
    verdict = judge.judge(query, BEFORE, GROWN)
    assert verdict.found == verdict.wanted
    assert str(verdict.sql).count(" UNION ALL ") == terms - 1, verdict.sql


def test_terms_are_left_out_only_if_the_other_side_cannot_meet_them(judge: DuckDBJudge) -> None:
    late = {"t": [*BEFORE["t"], (900, 1), (2, 9)], "u": [*BEFORE["u"], (900, 11, 1)]}
    verdict = judge.judge("SELECT t.v, u.w FROM t JOIN u ON t.k = u.k", BEFORE, late)
    assert verdict.found == verdict.wanted
    assert (9, 20) in verdict.wanted
    # An old row of u that goes meets the old rows of t.
    gone = {"t": GROWN["t"], "u": GROWN["u"][1:]}
    verdict = judge.judge("SELECT t.v, u.w FROM t LEFT JOIN u ON t.k = u.k", BEFORE, gone)
    assert verdict.found == verdict.wanted
    assert (1, None) in verdict.wanted


def struct(k: int, v: int) -> dict[str, int]:
    return {"k": k, "v": v}


@pytest.mark.parametrize(
    "subquery",
    [
        "SELECT 1 FROM u JOIN u AS t(k, w, big) ON true WHERE u.k = t.k",
        "SELECT 1 FROM u JOIN (SELECT k FROM u) AS t(k) ON true WHERE u.k = t.k",
        "SELECT 1 FROM u LATERAL VIEW explode(array(1, 2)) t AS k WHERE u.k = t.k",
        "SELECT 1 FROM s WHERE s.k = t.k",
    ],
)
def test_a_name_inside_a_subquery_is_not_taken_for_one_outside(judge: DuckDBJudge, subquery: str) -> None:
    query = f"SELECT t.v FROM t WHERE EXISTS ({subquery})"
    before: Rows = {"t": [(5, 5)], "u": [(1, 10, 1)], "s": [(2, struct(2, 1)), (9, struct(3, 1))]}
    for after in (
        {**before, "t": [(5, 5), (77, 7)]},
        {**before, "s": [(9, struct(3, 1))]},
        {**before, "s": [(9, struct(3, 1)), (4, struct(4, 4))], "u": [(1, 10, 1), (2, 20, 2)]},
    ):
        verdict = judge.judge(query, before, after)
        assert verdict.found == verdict.wanted, (subquery, after)


def test_a_changed_subquery_in_on_of_an_outer_join_is_refused(judge: DuckDBJudge) -> None:
    query = "SELECT t.k, u.w FROM t LEFT JOIN u ON t.k = u.k AND EXISTS (SELECT 1 FROM s WHERE s.k = u.k)"
    before: Rows = {"t": [(1, 1)], "u": [(1, 7, 1)], "s": []}
    after: Rows = {**before, "s": [(1, struct(1, 1))]}
    with pytest.raises(NotInBlocks, match="a subquery in ON of a join that is not an inner one"):
        judge.judge(query, before, after)
