"""Which queries may read a column of a table; in doubt all do."""

from __future__ import annotations

import pytest

from airflow_trickle.algebra.column_reads import reads_column
from airflow_trickle.algebra.references import parse_query


def found(query: str) -> str | None:
    """What the query reads column ``at`` of table ``t`` by: the text from there on."""
    starts = [ref.start for ref in parse_query(query).references if ref.name[-1] == "t"]
    offset = reads_column(query, starts, "at")
    return None if offset is None else query[offset:]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM t",
        "SELECT count(*) FROM t",
        "SELECT id AS at FROM t",
        "SELECT o.at FROM t JOIN o ON o.id = t.id",
        "SELECT o.* FROM t JOIN o ON o.id = t.id",
        "SELECT * FROM (SELECT id FROM t) s",
        "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM t WHERE t.id = o.id)",
        "SELECT x.id FROM t AS x JOIN o AS t2 USING (id) WHERE t2.at > 1",
        "SELECT 'at' AS s, t.id FROM t",
        "SELECT s.at FROM t CROSS JOIN (SELECT 1 AS at) AS s",
    ],
)
def test_the_column_is_not_read(query: str) -> None:
    assert found(query) is None


@pytest.mark.parametrize(
    ("query", "by"),
    [
        ("SELECT at FROM t", "at FROM t"),
        ("SELECT `AT` FROM t", "`AT` FROM t"),
        ("SELECT x.At FROM t x", "x.At FROM t x"),
        ("SELECT t.id FROM t JOIN o ON o.id = t.id AND at = 1", "at = 1"),
        ("SELECT id FROM o JOIN t USING (id, at)", "at)"),
        ("SELECT id FROM o NATURAL JOIN t", "t"),
        ("SELECT * FROM t", "* FROM t"),
        ("SELECT struct(t.*) AS s FROM t", "t.*) AS s FROM t"),
        ("SELECT id FROM (SELECT DISTINCT * FROM t) s", "* FROM t) s"),
        ("SELECT * EXCEPT (id) FROM t", "* EXCEPT (id) FROM t"),
        ("SELECT a FROM t AS x(a, b)", "t AS x(a, b)"),
        ("SELECT * FROM (SELECT id, v FROM t) PIVOT (sum(v) FOR id IN (1, 2))", "sum(v) FOR id IN (1, 2))"),
        ("SELECT id FROM t WHERE id IN (SELECT at FROM o)", "at FROM o)"),
    ],
)
def test_the_column_may_be_read(query: str, by: str) -> None:
    assert found(query) == by


def test_what_is_not_understood_reads_it() -> None:
    assert reads_column("SELECT FROM", [3], "at") == 0
    assert reads_column("FROM t |> SELECT id", [5], "at") == 0
    assert reads_column("SELECT 1", [7], "at") == 7
