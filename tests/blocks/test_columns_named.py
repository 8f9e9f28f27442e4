"""Which columns a query may name: all others can be left out of a change."""

from __future__ import annotations

import pytest

from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.columns_named import columns_named


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT a, t.b FROM t", {"a", "b"}),
        ("SELECT `A b` FROM t", {"a b"}),
        ("SELECT count(*) FROM t WHERE a > 1", {"a"}),
        ("SELECT a * b FROM t GROUP BY c", {"a", "b", "c"}),
        ("SELECT a FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.k)", {"a", "k"}),
        ("SELECT x FROM (SELECT a FROM t) AS q(x)", {"a", "x"}),
        ("WITH w (x) AS (SELECT a FROM t) SELECT x FROM w", {"a", "x"}),
        ("SELECT a FROM t JOIN u USING (k) ORDER BY b", {"a", "k", "b"}),
        ("SELECT s.f.g FROM t", {"s"}),
        ("SELECT date, year FROM t", {"date", "year"}),
    ],
)
def test_what_a_query_names_is_among_its_words(query: str, names: set[str]) -> None:
    found = columns_named(*blocks_of(query))
    assert found is not None
    assert names <= found
    assert "other" not in found


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t",
        "SELECT t.* FROM t",
        "SELECT a FROM (SELECT * FROM t) AS q",
        "SELECT a FROM u WHERE k IN (SELECT * FROM t)",
        "WITH w AS (SELECT * FROM t) SELECT a FROM w",
        "SELECT a FROM u WHERE EXISTS (SELECT a FROM (SELECT * FROM t) AS q WHERE q.a = u.a)",
        "SELECT struct(*) AS s FROM t",
        "SELECT count(DISTINCT *) AS n FROM t",
        "SELECT x FROM t AS q(x, y)",
        "SELECT IDENTIFIER('a') FROM t",
        "SELECT a FROM t UNION ALL SELECT * FROM u",
    ],
)
def test_a_query_that_may_read_other_columns_has_no_list(query: str) -> None:
    assert columns_named(*blocks_of(query)) is None
