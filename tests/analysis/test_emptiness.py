"""Whether a query returns no row while the tables it reads are empty."""

from __future__ import annotations

import time

import pytest

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.emptiness import stays_empty


def is_empty(text, *tables):
    """Whether the query is surely empty while those tables are."""
    parsed = parse_query(text)
    scans = {ref.start for ref in parsed.references if ref.name in tables}
    return stays_empty(parsed.tree, scans.__contains__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM a JOIN b", True),
        ("SELECT * FROM b LEFT JOIN a ON true", False),
        ("SELECT * FROM b RIGHT JOIN a ON true", True),
        ("SELECT * FROM a FULL JOIN b ON true", False),
        ("SELECT * FROM a UNION SELECT * FROM b", False),
        ("SELECT * FROM a UNION SELECT * FROM a", True),
        ("SELECT * FROM b INTERSECT SELECT * FROM a", True),
        ("SELECT * FROM b EXCEPT SELECT * FROM a", False),
        ("SELECT count(*) FROM a", False),
        ("SELECT x, count(*) FROM a GROUP BY x", True),
        ("SELECT x, count(*) FROM a GROUP BY ROLLUP (x)", False),
        ("SELECT my_function(x) FROM a", False),
        ("WITH c AS (SELECT * FROM a), d AS (SELECT * FROM b) SELECT * FROM d, c", True),
        ("WITH c AS (SELECT * FROM a), d AS (SELECT * FROM b) SELECT * FROM d UNION SELECT * FROM c", False),
    ],
)
def test_a_query_is_empty_if_every_way_to_a_row_is(text, expected):
    assert is_empty(text, "a") is expected


def test_many_levels_of_ctes_that_read_each_other_twice_are_judged_quickly():
    levels = (f"c{n} AS (SELECT * FROM c{n - 1} UNION ALL SELECT * FROM c{n - 1})" for n in range(1, 60))
    text = f"WITH c0 AS (SELECT * FROM a), {', '.join(levels)} SELECT * FROM c59"
    begun = time.perf_counter()
    assert is_empty(text, "a")
    assert not is_empty(text, "b")
    assert time.perf_counter() - begun < 5
