"""Where the word stands that makes a read non-monotone."""

from __future__ import annotations

import pytest

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.monotonicity import reads_of
from airflow_trickle.analysis.places import place_of


def pointed_at(text):
    """The text from the place on that is told for the first read that is not monotone."""
    parsed = parse_query(text)
    assert parsed.problems == ()
    found = reads_of(parsed.tree)
    operator = next(found[ref.start].operator for ref in parsed.references if found[ref.start].operator)
    return parsed.text[place_of(operator, parsed.text) :]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("SELECT x FROM a EXCEPT SELECT x FROM b", "EXCEPT SELECT x FROM b"),
        ("SELECT x FROM a\nexcept all\nSELECT x FROM b", "except all"),
        ("SELECT x FROM a MINUS SELECT x FROM b", "MINUS"),
        ("SELECT x FROM a EXCEPT (SELECT x FROM b UNION SELECT x FROM c)", "EXCEPT (SELECT"),
        ("SELECT * EXCEPT (y) FROM a EXCEPT SELECT x FROM b", "EXCEPT SELECT x FROM b"),
        ("SELECT x FROM a UNION SELECT x FROM d EXCEPT SELECT x FROM b", "EXCEPT SELECT x FROM b"),
        ("SELECT x FROM a WHERE NOT EXISTS (SELECT 1 FROM b)", "NOT EXISTS (SELECT 1 FROM b)"),
        (
            "SELECT x FROM a WHERE EXISTS (SELECT 1 FROM c) AND NOT EXISTS (SELECT 1 FROM b)",
            "NOT EXISTS (SELECT 1 FROM b)",
        ),
        (
            "SELECT x FROM a WHERE NOT EXISTS (SELECT 1 FROM b) AND EXISTS (SELECT 1 FROM c)",
            "NOT EXISTS (SELECT 1 FROM b)",
        ),
        ("SELECT x FROM a WHERE y = 1 OR NOT EXISTS (SELECT 1 FROM b)", "NOT EXISTS (SELECT 1 FROM b)"),
        ("SELECT x FROM a WHERE (EXISTS (SELECT 1 FROM b)) = false", "EXISTS (SELECT 1 FROM b)"),
        ("SELECT x FROM a WHERE y = 1 AND x NOT IN (SELECT x FROM b)", "x NOT IN (SELECT x FROM b)"),
        ("SELECT * FROM a JOIN c USING (x) LEFT JOIN b ON a.x = b.x", "LEFT JOIN b"),
        ("SELECT * FROM a JOIN c USING (x) LEFT OUTER JOIN b ON a.x = b.x JOIN d USING (x)", "LEFT OUTER JOIN b"),
        ("SELECT * FROM a RIGHT JOIN b ON a.x = b.x", "RIGHT JOIN b"),
        ("SELECT * FROM a full  outer\njoin b ON a.x = b.x", "full  outer\njoin b"),
        ("SELECT * FROM a LEFT ANTI JOIN b ON a.x = b.x", "LEFT ANTI JOIN b"),
        ("SELECT * FROM a ANTI JOIN b ON a.x = b.x", "ANTI JOIN b"),
        ("SELECT * FROM a NATURAL LEFT JOIN b", "LEFT JOIN b"),
        ("SELECT * FROM a LEFT JOIN (SELECT b.x FROM b JOIN c USING (x)) s USING (x)", "LEFT JOIN (SELECT b.x"),
        ("SELECT * FROM a LEFT JOIN (b JOIN c USING (x)) USING (x)", "LEFT JOIN (b JOIN"),
        ("SELECT x, count(*) AS n FROM a GROUP BY x", "count(*)"),
        ("SELECT x + max(y) FROM a", "max(y)"),
        ("SELECT x FROM a GROUP BY x HAVING sum(y) > 1", "sum(y)"),
        ("SELECT DISTINCT x FROM a GROUP BY x", "x"),
        ("SELECT x, sum(y) OVER (ORDER BY x) FROM a", "sum(y) OVER"),
        ("SELECT x FROM a ORDER BY x, y LIMIT 3", "ORDER BY x, y LIMIT 3"),
        ("SELECT x FROM a LIMIT 3", "LIMIT 3"),
        ("SELECT x FROM (SELECT x FROM a ORDER BY y LIMIT 9) WHERE x > 1", "ORDER BY y LIMIT 9"),
        ("SELECT * FROM a PIVOT (sum(y) FOR x IN (1, 2))", "PIVOT (sum"),
        ("SELECT x FROM a WHERE x > (SELECT max(x) FROM b)", "(SELECT max(x) FROM b)"),
        ("SELECT x FROM a WHERE (x + 1) > ( SELECT max(x) FROM b)", "( SELECT max(x) FROM b)"),
        ("SELECT x, (SELECT max(x) FROM b) FROM a", "(SELECT max(x) FROM b)"),
        (
            "WITH c AS (SELECT x FROM b), d AS (SELECT x FROM a EXCEPT SELECT x FROM c) SELECT * FROM d",
            "EXCEPT SELECT x FROM c",
        ),
        ("SELECT x FROM a WHERE x IN (SELECT x FROM c EXCEPT SELECT x FROM b)", "EXCEPT SELECT x FROM b"),
        ("SELECT x /* EXCEPT */ FROM a EXCEPT -- EXCEPT\n SELECT x FROM b", "EXCEPT"),
    ],
)
def test_the_word_is_pointed_at_that_a_person_would_point_at(text, start):
    assert pointed_at(text).startswith(start)


def test_a_recursion_points_at_the_operator_inside():
    text = "WITH RECURSIVE r AS (SELECT s FROM e UNION ALL (SELECT s FROM f EXCEPT SELECT s FROM r)) SELECT * FROM r"
    assert pointed_at(text).startswith("EXCEPT SELECT s FROM r")


def test_what_has_no_word_of_its_own_is_pointed_at_where_it_begins():
    assert pointed_at("SELECT my_function(x) FROM a").startswith("my_function(x)")
    assert pointed_at("SELECT x FROM a |> WHERE x > 1").startswith("SELECT x")
