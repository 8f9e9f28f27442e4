"""Edge types: what is told of a read, and whether duplicates reach it."""

from __future__ import annotations

import pytest

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.monotonicity import first_obstacle, short_name, steps
from tests.analysis.edge_readers import edges, read_of, recursive

# Duplicates.


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("SELECT x FROM a", True),
        ("SELECT x FROM a JOIN a b USING (x)", True),
        ("SELECT DISTINCT x FROM a", False),
        ("SELECT x FROM (SELECT DISTINCT x FROM a)", False),
        ("SELECT x FROM a UNION SELECT 1", False),
        ("SELECT x FROM a UNION ALL SELECT 1", True),
        ("SELECT x FROM a INTERSECT SELECT 1", False),
        ("SELECT x FROM a INTERSECT ALL SELECT 1", True),
        ("SELECT x FROM a EXCEPT SELECT 1", False),
        ("SELECT x FROM a EXCEPT ALL SELECT 1", True),
        ("SELECT x FROM a GROUP BY x", False),
        ("SELECT * FROM a PIVOT (sum(y) FOR x IN (1))", False),
        ("SELECT x, row_number() OVER (ORDER BY x) FROM a", True),
        ("SELECT x FROM a ORDER BY x LIMIT 3", True),
        ("SELECT x FROM VALUES (1) AS v(x) WHERE x IN (SELECT x FROM a)", False),
        ("SELECT x FROM VALUES (1) AS v(x) WHERE EXISTS (SELECT 1 FROM a)", False),
        ("SELECT x FROM VALUES (1) AS v(x) WHERE x = 1 OR EXISTS (SELECT 1 FROM a)", False),
        ("SELECT x FROM VALUES (1) AS v(x) LEFT SEMI JOIN a USING (x)", False),
        ("SELECT x FROM VALUES (1) AS v(x) LEFT ANTI JOIN a USING (x)", False),
        ("SELECT x FROM VALUES (1) AS v(x) LEFT JOIN a USING (x)", True),
        ("WITH c AS (SELECT x FROM a) SELECT DISTINCT x FROM c", False),
        ("WITH c AS (SELECT x FROM a) SELECT DISTINCT x FROM c UNION ALL SELECT x FROM c", True),
        ("WITH c AS (SELECT x FROM a) SELECT x FROM c UNION ALL SELECT DISTINCT x FROM c", True),
        ("WITH c AS (SELECT x FROM a) SELECT count(*) FROM c UNION ALL SELECT x FROM c", True),
        ("WITH RECURSIVE r AS (SELECT x FROM a UNION SELECT x FROM r) SELECT * FROM r", False),
        ("WITH RECURSIVE r AS (SELECT x FROM a UNION ALL SELECT x FROM r) SELECT * FROM r", True),
    ],
)
def test_duplicates_are_kept_unless_every_way_removes_them(text, kept):
    assert read_of(text).keeps_duplicates is kept


def test_of_two_places_one_that_keeps_duplicates_is_enough():
    assert edges("SELECT DISTINCT x FROM a UNION ALL SELECT x FROM a")["a"].keeps_duplicates is True
    assert edges("SELECT DISTINCT x FROM a UNION ALL SELECT DISTINCT y FROM a")["a"].keeps_duplicates is False


# What is told.


def test_a_monotone_read_tells_what_it_passes():
    text = "SELECT DISTINCT x FROM a JOIN b USING (x) WHERE x > 1 AND (x = 2 OR EXISTS (SELECT 1 FROM c))"
    assert read_of(text).because == "distinct, project, filter, subquery, inner join"
    assert read_of("WITH RECURSIVE r AS (SELECT x FROM a UNION SELECT x FROM r) SELECT * FROM r").because == (
        "project, recursion, union"
    )
    assert edges(text)["a"].because == "a row more only ever adds rows: distinct, project, filter, subquery, inner join"


def test_a_read_that_is_not_monotone_names_its_operator():
    text = "SELECT a.x FROM a LEFT JOIN b ON a.x = b.x WHERE EXISTS (SELECT max(x) FROM c)"
    assert isinstance(read_of(text, 1).operator, nodes.Join)
    assert isinstance(read_of(text, 2).operator, nodes.Aggregate)
    assert read_of(text, 0).operator is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT x FROM a JOIN b USING (x) WHERE EXISTS (SELECT 1 FROM c) OR x = 1", None),
        ("SELECT x FROM a EXCEPT SELECT x FROM b", "it is on the right side of EXCEPT"),
        ("SELECT max(n) FROM (SELECT count(*) OVER () AS n FROM a)", "it is the input of an aggregate (MAX)"),
        (
            "WITH c AS (SELECT count(*) AS x FROM a) SELECT x FROM b JOIN c USING (x)",
            "it is the input of an aggregate (COUNT)",
        ),
        ("WITH c AS (SELECT count(*) AS x FROM a) SELECT x FROM b", None),
        ("SELECT x FROM a |> WHERE x > 1", "the pipe syntax |> is not understood"),
        ("SELECT x FROM a WHERE x NOT IN (SELECT x FROM b)", "it is inside NOT IN"),
        (recursive("SELECT r.* FROM r LEFT ANTI JOIN f ON r.d = f.s"), "it is inside an ANTI JOIN"),
    ],
)
def test_the_older_check_takes_the_first_operator_from_the_root(text, expected):
    """Design 000 Part 2: test_nested_non_monotone_detected"""
    found = first_obstacle(parse_query(text).tree)
    assert (None if found is None else found[0]) == expected


def test_every_kind_of_node_has_a_rule_for_exactly_its_children():
    seen = set()
    texts = [
        "SELECT DISTINCT sum(x) OVER () FROM a JOIN b LATERAL VIEW explode(xs) t AS v ORDER BY x LIMIT 1",
        "SELECT x FROM a WHERE x = 1 OR x IN (SELECT x FROM c)",
        "SELECT * FROM a PIVOT (sum(x) FOR y IN (1)) UNION SELECT * FROM b UNPIVOT (v FOR n IN (x, y))",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r JOIN range(3)",
        "SELECT my_function(x) FROM a",
    ]
    for text in texts:
        stack = [parse_query(text).tree]
        while stack:
            node = stack.pop()
            seen.add(type(node))
            below = [child for child, _, _ in steps(node)]
            assert tuple(below) == nodes.children(node)
            assert short_name(node) is None or short_name(node) == short_name(node).lower()
            stack += below
    assert seen == set(nodes.Node.__args__)
