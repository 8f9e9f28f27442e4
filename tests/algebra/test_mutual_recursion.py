"""CTEs that read each other: found, and refused where nothing can be made of them."""

from __future__ import annotations

import logging

import pytest

from airflow_trickle.algebra.decompose import Decomposition, decompose
from airflow_trickle.algebra.mutual_recursion import mutual_groups
from tests.algebra.decomposed import PAIR, parts, queries


def problem(text: str) -> tuple[str, str]:
    """What is wrong with the query, and the text from there on."""
    found = decompose(text, "t", ())
    assert found is not None
    assert found.members == ()
    (only,) = found.problems
    return f"{only.message} {only.hint}", text[only.offset :]


def test_a_simple_mutual_recursion_is_detected():
    """Design 002 §8.1: test_detect_simple_mutual_recursion"""
    assert mutual_groups(PAIR) == (("a", "b"),)


def test_a_three_way_mutual_recursion_is_detected():
    """Design 002 §8.1: test_detect_three_way_mutual_recursion"""
    text = """
    WITH RECURSIVE c AS (SELECT * FROM b), a AS (SELECT 1 UNION SELECT * FROM c), b AS (SELECT * FROM a)
    SELECT * FROM a
    """
    assert mutual_groups(text) == (("c", "a", "b"),)


def test_a_circle_of_many_is_one_group():
    count = 40
    ctes = [f"c{i} AS (SELECT * FROM s UNION SELECT * FROM c{(i + 1) % count})" for i in range(count)]
    text = f"WITH RECURSIVE {', '.join(ctes)} SELECT * FROM c0"
    assert mutual_groups(text) == (tuple(f"c{i}" for i in range(count)),)
    assert len(parts(text)) == count + 1


NOT_MUTUAL = [
    "WITH RECURSIVE r AS (SELECT 1 AS x UNION SELECT x + 1 FROM r WHERE x < 9) SELECT * FROM r",
    "WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM a), b AS (SELECT 2 UNION SELECT * FROM b) SELECT * FROM a, b",
    "WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM a), b AS (SELECT * FROM a) SELECT * FROM b",
    "WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT * FROM s) SELECT * FROM a",
    "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a",
    "WITH RECURSIVE a AS (SELECT * FROM x.b), b AS (SELECT * FROM a) SELECT * FROM b",
    "WITH RECURSIVE a AS (WITH b AS (SELECT 1) SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b",
    "WITH RECURSIVE a AS (SELECT /*+ BROADCAST(b) */ * FROM s AS b), b AS (SELECT * FROM a) SELECT * FROM b",
    "WITH RECURSIVE a AS (SELECT b.x FROM s AS b), b AS (SELECT * FROM a) SELECT * FROM b",
    "WITH RECURSIVE a AS (SELECT 'FROM b' /* FROM b */ FROM s), b AS (SELECT * FROM a) SELECT * FROM b",
    "WITH RECURSIVE a AS (SELECT * FROM range(3)), range AS (SELECT * FROM a) SELECT * FROM a",
    "SELECT * FROM recursive",
    "SELECT 1",
]


@pytest.mark.parametrize(
    "text",
    NOT_MUTUAL,
    ids=[
        "a single recursive CTE",
        "independent recursive CTEs",
        "a CTE reads a recursive one",
        "a forward reference that leads nowhere",
        "no RECURSIVE",
        "a table of another namespace",
        "an inner WITH hides the name",
        "a hint names an alias",
        "an alias hides the name",
        "names in strings and comments",
        "a table function",
        "recursive is a table",
        "no WITH",
    ],
)
def test_what_is_no_mutual_recursion_is_left_alone(text):
    """Design 002 §8.1: test_no_mutual_recursion_single_cte
    Design 002 §8.1: test_no_mutual_recursion_independent_ctes
    """
    assert mutual_groups(text) == ()
    assert decompose(text, "t", ()) is None


@pytest.mark.parametrize(
    "text",
    [
        "WITH RECURSIVE a AS (SELECT * FROM b, b AS (SELECT * FROM a) SELECT * FROM a",
        "WITH RECURSIVE a AS ('",
        "WITH RECURSIVE",
        ";" + PAIR,
        PAIR + "; SELECT 1",
        "DROP TABLE recursive",
        "",
        "WITH RECURSIVE a AS (SELECT " + "(" * 3000 + "1" + ")" * 3000 + ") SELECT * FROM a",
    ],
)
def test_what_does_not_parse_is_left_to_those_who_report_it(text, caplog):
    with caplog.at_level(logging.WARNING):
        assert mutual_groups(text) == ()
        assert decompose(text, "t", ()) is None
    assert caplog.records == []


def test_mutual_and_independent_recursion_are_told_apart():
    """Design 002 §8.1: test_mixed_mutual_and_independent"""
    text = """
    WITH RECURSIVE
      r AS (SELECT 1 AS x UNION SELECT x + 1 FROM r WHERE x < 9),
      a AS (SELECT x FROM r UNION SELECT * FROM b),
      n AS (SELECT 1 AS x UNION SELECT x + 2 FROM n WHERE x < 9),
      b AS (SELECT x FROM a)
    SELECT * FROM b JOIN n USING (x)
    """
    assert mutual_groups(text) == (("a", "b"),)
    found = queries(text)
    assert list(found) == ["t__a", "t__b", "t"]
    assert "RECURSIVE\n      r AS (SELECT 1 AS x" in found["t__a"]
    assert "n AS" not in found["t__a"]
    assert "RECURSIVE" not in found["t__b"]
    assert "RECURSIVE\n      n AS" in found["t"]
    assert "r AS" not in found["t"]


def test_several_groups_become_stream_tables_each():
    text = (
        "WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM b), c AS (SELECT * FROM h UNION SELECT * FROM d), "
        "b AS (SELECT * FROM a), h AS (SELECT * FROM b), d AS (SELECT * FROM c) SELECT * FROM d"
    )
    assert mutual_groups(text) == (("a", "b"), ("c", "d"))
    found = decompose(text, "t", ())
    assert isinstance(found, Decomposition)
    assert [member.name for member in found.members] == ["t__a", "t__c", "t__b", "t__d", "t"]


EMPTY = (
    "the CTEs {} read each other, but none of them has a branch that reads none of them; the result would always "
    "be empty. Add a base case, such as SELECT … UNION …."
)


@pytest.mark.parametrize(
    ("ctes", "names"),
    [
        ("a AS (SELECT * FROM b), b AS (SELECT * FROM a)", "'a' and 'b'"),
        ("a AS (SELECT * FROM b UNION SELECT * FROM a), b AS (SELECT * FROM a JOIN s)", "'a' and 'b'"),
        ("a AS (SELECT * FROM c), b AS (SELECT * FROM a, s), c AS (SELECT * FROM s RIGHT JOIN b)", "'a', 'b' and 'c'"),
        ("a AS (SELECT * FROM s WHERE y = 1 AND EXISTS (SELECT 1 FROM b)), b AS (SELECT * FROM a)", "'a' and 'b'"),
        ("a AS (SELECT * FROM s WHERE (x IN (SELECT x FROM b))), b AS ((SELECT * FROM a))", "'a' and 'b'"),
        ("a AS (SELECT x, count(*) FROM b GROUP BY x), b AS (SELECT * FROM a EXCEPT SELECT * FROM s)", "'a' and 'b'"),
        ("a AS (SELECT * FROM b INTERSECT SELECT * FROM s), b AS (SELECT * FROM (s JOIN a))", "'a' and 'b'"),
        ("a AS (WITH i AS (SELECT * FROM b) SELECT * FROM i), b AS (SELECT * FROM a LEFT JOIN s)", "'a' and 'b'"),
    ],
)
def test_a_recursion_without_a_base_case_is_refused(ctes, names):
    text = f"WITH RECURSIVE s AS (SELECT 1 AS x), {ctes} SELECT * FROM a"
    message, place = problem(text)
    assert message == EMPTY.format(names)
    assert place.startswith("a AS")


@pytest.mark.parametrize(
    "body",
    [
        "SELECT 1 UNION SELECT * FROM b",
        "VALUES (1) UNION SELECT * FROM b",
        "SELECT s.* FROM s LEFT JOIN b ON true",
        "SELECT s.* FROM s FULL JOIN b ON true",
        "SELECT s.* FROM s LEFT ANTI JOIN b ON true",
        "SELECT s.* FROM b RIGHT JOIN s ON true",
        "SELECT * FROM s WHERE NOT EXISTS (SELECT 1 FROM b)",
        "SELECT * FROM s WHERE x = 1 OR x IN (SELECT x FROM b)",
        "SELECT * FROM s WHERE x NOT IN (SELECT x FROM b)",
        "SELECT count(*) FROM b",
        "SELECT my_aggregate(x) FROM b",
        "SELECT count(*) FROM b GROUP BY GROUPING SETS (())",
        "SELECT * FROM s EXCEPT SELECT * FROM b",
        "SELECT (SELECT max(x) FROM b) FROM s",
        "WITH b AS (SELECT * FROM s) SELECT * FROM b UNION SELECT * FROM c",
    ],
)
def test_a_recursion_that_may_begin_is_not_refused(body):
    parts(f"WITH RECURSIVE a AS ({body}), b AS (SELECT * FROM a), c AS (SELECT * FROM b) SELECT * FROM c")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM ({})",
        "({})",
        "SELECT * FROM s WHERE EXISTS ({})",
        "WITH c AS ({}) SELECT * FROM c",
        "WITH RECURSIVE c AS ({}) SELECT * FROM c",
        "WITH RECURSIVE c AS (SELECT 1 UNION SELECT * FROM d), d AS (SELECT * FROM c JOIN ({})) SELECT * FROM d",
        "SELECT 1 UNION {}",
    ],
)
def test_nested_mutual_recursion_is_refused(text):
    message, place = problem(text.replace("{}", PAIR))
    assert message == (
        "the CTEs 'a' and 'b' read each other, but not at the top of the query. "
        "Move the WITH RECURSIVE to the top of the query."
    )
    assert place.startswith("a AS (SELECT 1 AS x")


def test_a_cte_that_is_defined_twice_is_refused():
    text = PAIR.replace(" SELECT * FROM b", ", B AS (SELECT 3) SELECT * FROM b")
    text = (
        "WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM b), b AS (SELECT * FROM a), A AS (SELECT 3) SELECT * FROM b"
    )
    message, place = problem(text)
    assert message == "the CTE 'A' is defined twice. Rename one of them."
    assert place.startswith("A AS")
