"""Edge types through joins and subqueries."""

from __future__ import annotations

import pytest

from tests.analysis.edge_readers import because, signs

# Joins.


@pytest.mark.parametrize(
    "join",
    [
        "JOIN b ON a.x = b.x",
        "INNER JOIN b USING (x)",
        "CROSS JOIN b",
        ", b",
        "NATURAL JOIN b",
        "JOIN b",
        "JOIN (b) ON true",
    ],
)
def test_inner_and_cross_joins_are_monotone_on_both_sides(join):
    """Design 000 Part 2: test_join_is_monotone
    Design 001 §9.1: test_classify_join_both_sources_are_monotone
    """
    assert signs(f"SELECT * FROM a {join}") == "a+ b+"


@pytest.mark.parametrize("join", ["LEFT SEMI JOIN b ON a.x = b.x", "SEMI JOIN b USING (x)"])
def test_a_semi_join_is_monotone_on_both_sides(join):
    assert signs(f"SELECT * FROM a {join}") == "a+ b+"


@pytest.mark.parametrize("join", ["LEFT JOIN b ON a.x = b.x", "LEFT OUTER JOIN b USING (x)", "NATURAL LEFT JOIN b"])
def test_of_a_left_join_only_the_left_side_is_monotone(join):
    assert signs(f"SELECT * FROM a {join}") == "a+ b-"
    assert because(f"SELECT * FROM a {join}", "b") == "it is on the null-supplying side of a LEFT JOIN"


@pytest.mark.parametrize("join", ["RIGHT JOIN b ON a.x = b.x", "RIGHT OUTER JOIN b USING (x)", "NATURAL RIGHT JOIN b"])
def test_of_a_right_join_only_the_right_side_is_monotone(join):
    assert signs(f"SELECT * FROM a {join}") == "a- b+"


@pytest.mark.parametrize("join", ["FULL JOIN b ON a.x = b.x", "FULL OUTER JOIN b USING (x)", "NATURAL FULL JOIN b"])
def test_of_a_full_join_neither_side_is_monotone(join):
    assert signs(f"SELECT * FROM a {join}") == "a- b-"


@pytest.mark.parametrize("join", ["LEFT ANTI JOIN b ON a.x = b.x", "ANTI JOIN b USING (x)"])
def test_of_an_anti_join_only_the_left_side_is_monotone(join):
    """Design 001 §9.1: test_classify_anti_join_subquery_source_is_non_monotone
    Design 001 §9.1: test_classify_anti_join_left_source_is_monotone
    """
    assert signs(f"SELECT * FROM a {join}") == "a+ b-"
    assert because(f"SELECT * FROM a {join}", "b") == "it is inside an ANTI JOIN"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM a LEFT JOIN b ON a.x = b.x JOIN c ON b.x = c.x", "a+ b- c+"),
        ("SELECT * FROM a JOIN b ON a.x = b.x LEFT JOIN c ON b.x = c.x", "a+ b+ c-"),
        ("SELECT * FROM a JOIN b ON a.x = b.x RIGHT JOIN c ON b.x = c.x", "a- b- c+"),
        ("SELECT * FROM a, b RIGHT JOIN c ON b.x = c.x", "a- b- c+"),
        ("SELECT * FROM a LEFT JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x", "a+ b- c-"),
        ("SELECT * FROM a LEFT JOIN (b LEFT ANTI JOIN c ON b.x = c.x) ON a.x = b.x", "a+ b- c-"),
        ("SELECT * FROM (a LEFT JOIN b ON a.x = b.x) JOIN c", "a+ b- c+"),
        ("SELECT * FROM a LEFT SEMI JOIN (SELECT b.x FROM b LEFT JOIN c ON b.x = c.x) s ON a.x = s.x", "a+ b+ c-"),
    ],
)
def test_joins_of_joins_are_judged_by_every_join_on_the_way(text, expected):
    assert signs(text) == expected


def test_a_left_join_that_asks_for_null_is_no_better_than_another():
    assert signs("SELECT a.x FROM a LEFT JOIN b ON a.x = b.x WHERE b.x IS NULL") == "a+ b-"


def test_a_join_that_is_not_known_is_opaque():
    assert signs("SELECT * FROM a RIGHT ANTI JOIN b ON a.x = b.x") == "a- b-"


# Subqueries.


@pytest.mark.parametrize(
    "condition",
    [
        "EXISTS (SELECT 1 FROM b)",
        "EXISTS (SELECT 1 FROM b WHERE b.x = a.x)",
        "EXISTS (FROM b SELECT x)",
        "EXISTS (SELECT 1 FROM b LIMIT 1)",
        "x IN (SELECT x FROM b)",
        "x IN ((SELECT x FROM b) UNION (SELECT y FROM b))",
        "(x, y) IN (SELECT x, y FROM b)",
        "NOT NOT EXISTS (SELECT 1 FROM b)",
        "NOT (x NOT IN (SELECT x FROM b))",
        "NOT (NOT (x IN (SELECT x FROM b)))",
        "x > 1 AND (y = 2 AND EXISTS (SELECT 1 FROM b))",
        "y = 1 OR EXISTS (SELECT 1 FROM b)",
        "x IN (SELECT x FROM b) OR y IN (SELECT y FROM b)",
        "NOT (y = 1 AND NOT EXISTS (SELECT 1 FROM b))",
        "NOT (y = 1 OR x NOT IN (SELECT x FROM b))",
        "NOT ((NOT EXISTS (SELECT 1 FROM b) OR y = 1) AND x = 2)",
        "x IN (WITH q AS (SELECT x FROM b) SELECT x FROM q)",
        "x IN (SELECT x FROM b INTERSECT SELECT y FROM b)",
    ],
)
def test_exists_and_in_are_monotone_as_long_as_they_only_let_rows_pass(condition):
    assert signs(f"SELECT x FROM a WHERE {condition}") == "a+ b+"


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("NOT EXISTS (SELECT 1 FROM b)", "it is inside NOT EXISTS"),
        ("!EXISTS (SELECT 1 FROM b WHERE b.x = a.x)", "it is inside NOT EXISTS"),
        ("NOT (EXISTS (SELECT 1 FROM b))", "it is inside NOT EXISTS"),
        ("NOT NOT NOT EXISTS (SELECT 1 FROM b)", "it is inside NOT EXISTS"),
        ("x NOT IN (SELECT x FROM b)", "it is inside NOT IN"),
        ("NOT x IN (SELECT x FROM b WHERE x IS NOT NULL)", "it is inside NOT IN"),
        ("(x, y) NOT IN (SELECT x, y FROM b)", "it is inside NOT IN"),
    ],
)
def test_of_not_exists_and_not_in_only_the_rows_asked_for_are_monotone(condition, reason):
    """Design 001 §9.1: test_classify_anti_join_subquery_source_is_non_monotone"""
    text = f"SELECT x FROM a WHERE {condition}"
    assert signs(text) == "a+ b-"
    assert because(text, "b") == reason


@pytest.mark.parametrize(
    "condition",
    [
        "y = 1 OR NOT EXISTS (SELECT 1 FROM b)",
        "NOT (y = 1 OR EXISTS (SELECT 1 FROM b))",
        "NOT (y = 1 AND x IN (SELECT x FROM b))",
        "y = 1 OR x NOT IN (SELECT x FROM b)",
        "EXISTS (SELECT 1 FROM b) IS FALSE",
        "EXISTS (SELECT 1 FROM b) = false",
        "(NOT EXISTS (SELECT 1 FROM b)) = true",
        "EXISTS (SELECT 1 FROM b) <=> (y = 1)",
        "(x IN (SELECT x FROM b)) IS NULL",
        "(x IN (SELECT x FROM b)) IS NOT TRUE",
        "coalesce(x IN (SELECT x FROM b), true)",
        "CASE WHEN EXISTS (SELECT 1 FROM b) THEN false ELSE true END",
        "CASE WHEN y = 1 THEN EXISTS (SELECT 1 FROM b) END",
        "if(EXISTS (SELECT 1 FROM b), false, true)",
        "CAST(EXISTS (SELECT 1 FROM b) AS INT) = 0",
        "array_contains(array(false), EXISTS (SELECT 1 FROM b))",
        "EXISTS (SELECT 1 FROM b) IN (false)",
    ],
)
def test_exists_and_in_are_not_monotone_when_negated_or_used_as_a_value(condition):
    text = f"SELECT x FROM a WHERE {condition}"
    assert signs(text) == "a+ b-"
    assert "that is negated or used as a value" in because(text, "b")


@pytest.mark.parametrize(
    "column", ["EXISTS (SELECT 1 FROM b)", "x IN (SELECT x FROM b)", "NOT EXISTS (SELECT 1 FROM b)"]
)
def test_a_truth_value_in_a_column_is_not_monotone(column):
    text = f"SELECT x, {column} AS f FROM a"
    assert sorted(signs(text).split()) == ["a+", "b-"]
    assert because(text, "b")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x FROM a WHERE x > (SELECT max(x) FROM b)",
        "SELECT x FROM a WHERE (SELECT count(*) FROM b WHERE b.x = a.x) = 0",
        "SELECT x FROM a WHERE (SELECT count(*) FROM b) > 0",
        "SELECT x FROM a WHERE x = (FROM b SELECT max(x))",
        "SELECT x FROM a WHERE (SELECT max(x) FROM b) IN (0, 1)",
        "SELECT x FROM a WHERE x IN (1, (SELECT max(x) FROM b))",
        "SELECT x FROM a WHERE x IN ((SELECT max(x) FROM b), 1)",
        # In two pairs of parentheses it is a list of one value.
        "SELECT x FROM a WHERE x IN ((SELECT x FROM b))",
        "SELECT x FROM a WHERE x BETWEEN 1 AND (SELECT max(x) FROM b)",
        "SELECT x FROM a WHERE y = 1 OR (SELECT true FROM b)",
        "SELECT x FROM a WHERE (SELECT DISTINCT true FROM b)",
        "SELECT x FROM a ORDER BY (SELECT max(x) FROM b)",
    ],
)
def test_a_scalar_subquery_is_not_monotone(text):
    assert signs(text) == "a+ b-"
    assert because(text, "b") == "it is inside a scalar subquery"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT (SELECT max(x) FROM b) AS m FROM a", "b- a+"),
        ("SELECT x FROM a GROUP BY x HAVING count(*) > (SELECT max(x) FROM b)", "a- b-"),
        ("SELECT x FROM a WHERE (SELECT max(x) FROM b) IN (SELECT x FROM c)", "a+ b- c+"),
        ("SELECT x FROM a WHERE (x, (SELECT max(x) FROM b)) NOT IN (SELECT x, y FROM c)", "a+ b- c-"),
        ("SELECT x FROM a WHERE x IN (SELECT x FROM b WHERE b.y > (SELECT avg(y) FROM c))", "a+ b+ c-"),
        ("SELECT x FROM a ORDER BY (SELECT max(x) FROM b) LIMIT 1", "a- b-"),
        ("SELECT explode((SELECT collect_list(x) FROM b)) FROM a", "b- a+"),
        ("SELECT sum(x) OVER (ORDER BY (SELECT max(x) FROM b)) FROM a", "b- a-"),
    ],
)
def test_a_scalar_subquery_is_not_monotone_wherever_it_stands(text, expected):
    assert signs(text) == expected


def test_exists_over_an_aggregate_or_a_window_is_not_monotone():
    assert signs("SELECT x FROM a WHERE EXISTS (SELECT max(y) FROM b)") == "a+ b-"
    window = "SELECT row_number() OVER (ORDER BY y) AS n FROM b QUALIFY n = 2"
    assert signs(f"SELECT x FROM a WHERE EXISTS ({window})") == "a+ b-"
    assert signs("SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b LIMIT 0)") == "a+ b-"
    assert signs("SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b OFFSET 3)") == "a+ b-"


def test_a_subquery_is_monotone_through_having_and_qualify():
    assert signs("SELECT x FROM a GROUP BY x HAVING x IN (SELECT x FROM b)") == "a- b+"
    assert signs("SELECT x FROM a GROUP BY x HAVING NOT EXISTS (SELECT 1 FROM b)") == "a- b-"
    assert signs("SELECT x FROM a QUALIFY row_number() OVER (ORDER BY x) = 1 AND EXISTS (SELECT 1 FROM b)") == "a- b+"


def test_a_subquery_under_an_aggregate_or_a_key_is_not_monotone():
    assert signs("SELECT sum(x) FILTER (WHERE EXISTS (SELECT 1 FROM b)) FROM a") == "b- a-"
    assert signs("SELECT max(x IN (SELECT x FROM b)) FROM a") == "b- a-"
    assert signs("SELECT x FROM a GROUP BY x, EXISTS (SELECT 1 FROM b)") == "a- b-"
    assert signs("SELECT count(*) FROM a WHERE EXISTS (SELECT 1 FROM b)") == "a- b-"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM a JOIN b ON EXISTS (SELECT 1 FROM c WHERE c.x = a.x)", "a+ b+ c+"),
        ("SELECT * FROM a JOIN b ON a.x = b.x AND a.y NOT IN (SELECT y FROM c)", "a+ b+ c-"),
        ("SELECT * FROM a JOIN b ON (SELECT max(x) > 1 FROM c)", "a+ b+ c-"),
        ("SELECT * FROM a JOIN b ON a.x IN (1, (SELECT max(x) FROM c))", "a+ b+ c-"),
        ("SELECT * FROM a JOIN b ON (SELECT max(x) FROM c) IN (SELECT x FROM d)", "a+ b+ c- d+"),
        ("SELECT * FROM a LEFT JOIN b ON EXISTS (SELECT 1 FROM c WHERE c.x = a.x)", "a- b- c-"),
        ("SELECT * FROM a LEFT JOIN b ON (SELECT max(x) > 1 FROM c)", "a- b- c-"),
        ("SELECT * FROM a LEFT ANTI JOIN b ON a.x = b.x AND a.x IN (SELECT x FROM c)", "a- b- c-"),
        ("SELECT * FROM a FULL JOIN b ON (SELECT max(x) FROM c) IN (SELECT x FROM d)", "a- b- c- d-"),
    ],
)
def test_a_subquery_in_on_is_a_filter_of_an_inner_join_and_else_opaque(text, expected):
    assert signs(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.x = a.x) AS l", "a+ b+"),
        ("SELECT * FROM a JOIN LATERAL (SELECT * FROM b WHERE b.x = a.x) AS l", "a+ b+"),
        ("SELECT * FROM a, LATERAL (SELECT count(*) AS n FROM b WHERE b.x = a.x) AS l", "a+ b-"),
        ("SELECT * FROM a, LATERAL (SELECT b.x FROM b WHERE b.x > a.x ORDER BY b.x LIMIT 1) AS l", "a+ b-"),
        ("SELECT * FROM a LEFT JOIN LATERAL (SELECT * FROM b WHERE b.x = a.x) AS l", "a+ b-"),
        (
            "SELECT * FROM a, LATERAL (SELECT * FROM b) AS l, LATERAL (SELECT max(x) FROM c WHERE c.x = l.x) AS m",
            "a+ b+ c-",
        ),
    ],
)
def test_a_lateral_subquery_is_judged_by_its_body_and_its_join(text, expected):
    assert signs(text) == expected
