"""Edge types through named parts of a query, plain and recursive."""

from __future__ import annotations

import pytest

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.monotonicity import first_obstacle, reads_of, self_reference
from tests.analysis.edge_readers import because, edges, recursion_of, recursive, signs

# CTEs.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WITH c AS (SELECT x FROM a) SELECT x FROM c", "a+"),
        ("WITH c AS (SELECT x FROM a) SELECT x FROM c UNION ALL SELECT count(*) FROM c", "a-"),
        ("WITH c AS (SELECT x FROM a) SELECT count(*) FROM c UNION ALL SELECT x FROM c", "a-"),
        ("WITH c AS (SELECT x FROM a), d AS (SELECT x FROM c) SELECT x FROM b EXCEPT SELECT x FROM d", "a- b+"),
        (
            "WITH c AS (SELECT x FROM b EXCEPT SELECT x FROM a), d AS (SELECT x FROM c), e AS (SELECT x FROM d) "
            "SELECT * FROM e",
            "b+ a-",
        ),
        ("WITH c AS (SELECT x FROM a) SELECT x FROM b WHERE x IN (SELECT x FROM c)", "a+ b+"),
        ("WITH c AS (SELECT x FROM a) SELECT x FROM b WHERE (SELECT max(x) FROM c) IN (1, 2)", "a- b+"),
        ("WITH c AS (SELECT x FROM a) SELECT x FROM b WHERE x IN ((SELECT max(x) FROM c), 2)", "a- b+"),
        ("SELECT x FROM (WITH c AS (SELECT count(*) AS x FROM a) SELECT x FROM c) JOIN b USING (x)", "a- b+"),
        ("WITH c AS (SELECT x FROM a) (SELECT x FROM b EXCEPT SELECT x FROM c)", "a- b+"),
    ],
)
def test_a_cte_is_judged_by_every_place_that_reads_it(text, expected):
    assert signs(text) == expected


def test_a_cte_that_nothing_reads_takes_nothing_away():
    text = "WITH c AS (SELECT count(*) AS x FROM a), d AS (SELECT x FROM c) SELECT x FROM b"
    assert signs(text) == "a+ b+"
    assert edges(text)["a"].because == "only a CTE that nothing reads names it"
    assert edges(text)["a"].keeps_duplicates is False
    assert set(reads_of(parse_query(text).tree)) == {text.index("b", text.index("FROM b"))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The inner c hides the outer one.
        (
            "WITH c AS (SELECT x FROM a), d AS (WITH c AS (SELECT x FROM b) SELECT x FROM c) "
            "SELECT x FROM d EXCEPT SELECT x FROM c",
            "a- b+",
        ),
        (
            "WITH c AS (SELECT x FROM a) SELECT x FROM (WITH c AS (SELECT x FROM b) SELECT count(*) AS x FROM c) "
            "JOIN c USING (x)",
            "a+ b-",
        ),
        # A CTE hides a table, but not from itself and from those before it.
        ("WITH a AS (SELECT count(*) AS x FROM a) SELECT x FROM a", "a-"),
        ("WITH d AS (SELECT x FROM a), a AS (SELECT count(*) AS x FROM b) SELECT x FROM d JOIN a USING (x)", "a+ b-"),
        ("WITH a AS (SELECT x FROM b) SELECT x FROM db.a EXCEPT SELECT x FROM A", "b- db.a+"),
        # Outside of its parentheses it is not seen.
        ("(WITH c AS (SELECT x FROM a) SELECT x FROM c) EXCEPT SELECT x FROM c", "a+ c-"),
    ],
)
def test_a_hidden_name_is_not_mixed_up_with_the_one_that_hides_it(text, expected):
    assert signs(text) == expected


RECURSIVE = "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 3)"


@pytest.mark.parametrize(
    "text",
    [
        f"{RECURSIVE} (WITH a AS (SELECT x FROM a) SELECT x FROM a)",
        f"{RECURSIVE} ((WITH a AS (SELECT 1) SELECT 1))",
        f"WITH a AS (SELECT x FROM b UNION SELECT x FROM a) ({RECURSIVE} SELECT r.x FROM r, a)",
    ],
)
def test_two_withs_of_which_the_parser_makes_one_recursive_one_are_refused(text):
    (problem,) = parse_query(text).problems
    assert problem.message == "a WITH stands directly behind another one, and one of them is RECURSIVE."


@pytest.mark.parametrize(
    "text",
    [
        f"{RECURSIVE} SELECT x FROM r WHERE x IN (WITH a AS (SELECT x FROM b) SELECT x FROM a)",
        f"{RECURSIVE} (WITH a AS (SELECT x FROM b) SELECT x FROM a) UNION (SELECT x FROM r)",
        f"{RECURSIVE} SELECT x FROM r GROUP BY x WITH ROLLUP",
        "WITH a AS (SELECT x FROM b) (WITH c AS (SELECT x FROM a) SELECT x FROM c)",
    ],
)
def test_other_withs_inside_a_query_are_read(text):
    assert parse_query(text).problems == ()


def test_many_levels_of_ctes_that_read_each_other_twice_are_judged_quickly():
    levels = (f"c{n} AS (SELECT x FROM c{n - 1} UNION ALL SELECT x FROM c{n - 1})" for n in range(1, 100))
    text = f"WITH c0 AS (SELECT x FROM a), {', '.join(levels)} SELECT x FROM b EXCEPT SELECT x FROM c99"
    assert signs(text) == "a- b+"
    assert first_obstacle(parse_query(text).tree)[0] == "it is on the right side of EXCEPT"


# Recursion.


@pytest.mark.parametrize("union", ["UNION", "UNION ALL"])
def test_a_self_reference_in_a_join_is_monotone(union):
    """Design 001 §9.1: test_self_ref_in_join_is_monotone"""
    text = recursive("SELECT r.s, f.d FROM r JOIN f ON r.d = f.s", union)
    assert self_reference(recursion_of(text)) is None
    assert signs(text) == "e+ f+"


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("SELECT r.s, f.d FROM f JOIN r ON r.d = f.s WHERE NOT array_contains(r.path, f.d)", "e+ f+"),
        ("SELECT r.* FROM r LEFT SEMI JOIN f ON r.d = f.s", "e+ f+"),
        ("SELECT f.* FROM f LEFT SEMI JOIN r ON r.d = f.s", "e+ f+"),
        ("SELECT f.* FROM f WHERE s IN (SELECT d FROM r)", "e+ f+"),
        ("SELECT r.* FROM r LEFT ANTI JOIN f ON r.d = f.s", "e+ f-"),
        ("SELECT r.* FROM r WHERE NOT EXISTS (SELECT 1 FROM f WHERE f.s = r.d)", "e+ f-"),
        ("SELECT r.* FROM r WHERE r.d > (SELECT max(s) FROM f)", "e+ f-"),
        ("SELECT r.s, f.d FROM r LEFT JOIN f ON r.d = f.s", "e+ f-"),
        ("(SELECT * FROM r EXCEPT SELECT * FROM f)", "e+ f-"),
        ("SELECT DISTINCT s, d FROM (SELECT * FROM r INTERSECT SELECT * FROM f)", "e+ f+"),
        ("SELECT q.s, r.d FROM r AS q JOIN r ON q.d = r.s", "e+"),
        ("(WITH q AS (SELECT * FROM r) SELECT q.s, f.d FROM q JOIN f ON q.d = f.s)", "e+ f+"),
    ],
)
def test_other_tables_may_be_subtracted_from_a_monotone_self_reference(step, expected):
    """Design 001 §9.1: test_self_ref_in_anti_join_left_is_monotone
    Design 001 §9.1: test_external_anti_join_with_monotone_self_ref_is_stratifiable
    """
    text = recursive(step)
    assert self_reference(recursion_of(text)) is None
    assert signs(text) == expected


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("(SELECT * FROM f EXCEPT SELECT * FROM r)", "it is on the right side of EXCEPT"),
        ("SELECT f.* FROM f LEFT ANTI JOIN r ON r.d = f.s", "it is inside an ANTI JOIN"),
        ("SELECT f.* FROM f WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.d = f.s)", "it is inside NOT EXISTS"),
        ("SELECT f.* FROM f WHERE s NOT IN (SELECT d FROM r)", "it is inside NOT IN"),
        ("SELECT f.* FROM f LEFT JOIN r ON r.d = f.s", "it is on the null-supplying side of a LEFT JOIN"),
        ("SELECT r.* FROM r RIGHT JOIN f ON r.d = f.s", "it is on the null-supplying side of a RIGHT JOIN"),
        ("SELECT max(s), d FROM r JOIN f USING (s) GROUP BY d", "it is the input of an aggregate (MAX)"),
        ("SELECT f.* FROM f WHERE s > (SELECT max(s) FROM r)", "it is inside a scalar subquery"),
        ("SELECT f.* FROM f WHERE s IN (1, (SELECT max(s) FROM r))", "it is inside a scalar subquery"),
        (
            "SELECT s, row_number() OVER (ORDER BY d) FROM r JOIN f USING (s)",
            "it is the input of a window (ROW_NUMBER)",
        ),
        ("(SELECT r.* FROM r JOIN f USING (s) ORDER BY s LIMIT 3)", "it is the input of ORDER BY … LIMIT"),
        ("(WITH q AS (SELECT * FROM r) SELECT * FROM f EXCEPT SELECT * FROM q)", "it is on the right side of EXCEPT"),
        (
            "SELECT f.* FROM f JOIN (SELECT DISTINCT s FROM r) USING (s) WHERE 3 > (SELECT count(*) FROM r)",
            "it is inside a scalar subquery",
        ),
    ],
)
def test_a_negative_self_reference_spoils_every_table_of_the_recursion(step, reason):
    """Design 001 §9.1: test_self_ref_in_except_right_is_non_monotone"""
    text = recursive(step)
    found = self_reference(recursion_of(text))
    assert found.because == reason
    assert text[found.scan] == "r"
    assert signs(text) == "e- f-"
    assert because(text, "e") == f"the recursive CTE 'r' reads itself in a place that is not monotone: {reason}"


def test_what_reads_a_recursive_cte_counts_too():
    step = "SELECT r.s, f.d FROM r JOIN f ON r.d = f.s"
    assert signs(recursive(step, query="SELECT * FROM g WHERE NOT EXISTS (SELECT 1 FROM r)")) == "e- f- g+"
    assert signs(recursive(step, query="SELECT s, count(*) FROM r GROUP BY s")) == "e- f-"
    assert signs(recursive(step, query="SELECT * FROM g")) == "e+ f+ g+"


def test_a_recursion_inside_a_recursion_is_judged_for_both():
    inner = "WITH RECURSIVE q AS (SELECT s FROM {} UNION ALL SELECT f.s FROM f JOIN q USING (s){}) SELECT s, s FROM q"
    good = recursive(f"({inner.format('r', '')})")
    assert self_reference(recursion_of(good)) is None
    assert signs(good) == "e+ f+"
    # The outer one is subtracted inside the inner one.
    bad = recursive(f"({inner.format('g', ' WHERE NOT EXISTS (SELECT 1 FROM r)')})")
    assert self_reference(recursion_of(bad)).because == "it is inside NOT EXISTS"
    assert signs(bad) == "e- g- f-"
    # The inner one subtracts itself.
    worse = recursive(f"({inner.format('r', ' WHERE NOT EXISTS (SELECT 1 FROM q)')})")
    assert signs(worse) == "e- f-"


def test_ctes_of_a_nested_with_that_read_each_other_are_no_tables():
    nested = "WITH q AS (SELECT * FROM r), p AS (SELECT * FROM q WHERE s NOT IN (SELECT s FROM f)) SELECT * FROM p"
    assert signs(recursive(f"({nested})")) == "e+ f-"


def test_a_recursive_cte_hides_a_table_and_a_cte_of_its_name():
    text = "WITH r AS (SELECT s FROM a) SELECT * FROM (WITH RECURSIVE r AS (SELECT s FROM b UNION SELECT s FROM r) "
    assert signs(f"{text} SELECT count(*) AS s FROM r) JOIN r USING (s)") == "a+ b-"
