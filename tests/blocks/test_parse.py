"""Queries taken apart into spans of their own text."""

from __future__ import annotations

import pytest

from airflow_trickle.algebra.nodes import JoinKind, SetKind
from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.shapes import Constant, Derived, NotInBlocks, RowFunction, Select, SetOperation, TableName
from tools.sql_corpora import corpora


def select_of(text):
    blocks, query = blocks_of(text)
    assert isinstance(query.body, Select)
    return blocks, query.body


def shown(text, *names):
    """Some clauses of a SELECT, as written."""
    blocks, select = select_of(text)
    spans = (getattr(select, name) for name in names)
    return [None if span is None else blocks.slice(span) for span in spans]


def test_columns_are_expressions_and_aliases():
    blocks, select = select_of("SELECT a.x, b AS `c d`, count(*) n, CASE WHEN x THEN 1 END z, INTERVAL '1' DAY FROM t")
    found = [(blocks.slice(item.span), item.alias) for item in select.items]
    assert found == [
        ("a.x", None),
        ("b", "`c d`"),
        ("count(*)", "n"),
        ("CASE WHEN x THEN 1 END", "z"),
        ("INTERVAL '1' DAY", None),
    ]


def test_stars_know_their_relation_and_their_exceptions():
    blocks, select = select_of("SELECT *, t.*, t . * EXCEPT (a, b), x * y FROM t")
    assert [item.star for item in select.items] == ["", "t.", "t . ", None]
    at = select.items[2].star_except
    assert at is not None
    assert blocks.text[at - 1 : at + 1] == "b)"


def test_clauses_are_found_whatever_stands_inside_them():
    text = (
        "SELECT k FROM t WHERE x IS DISTINCT FROM y AND 'GROUP BY' = s GROUP BY k, left(s, 2) "
        "HAVING count(*) > (SELECT 1 FROM u WHERE z) ORDER BY k LIMIT 3"
    )
    assert shown(text, "where", "group", "having", "qualify") == [
        "x IS DISTINCT FROM y AND 'GROUP BY' = s",
        "k, left(s, 2)",
        "count(*) > (SELECT 1 FROM u WHERE z)",
        None,
    ]
    blocks, select = select_of(text)
    assert [blocks.slice(key) for key in select.keys] == ["k", "left(s, 2)"]


def test_relations_and_their_joins_come_in_the_order_of_the_text():
    blocks, select = select_of(
        "SELECT 1 FROM ns.t AS a LEFT OUTER JOIN (SELECT 1 FROM u) b ON a.x = b.x AND left(a.s, 1) = 'x', "
        "range(3) r JOIN v USING (k, `l m`) LEFT ANTI JOIN w ON true, LATERAL explode(a.l) AS e(x)"
    )
    kinds = [(source.kind, type(source.relation), source.alias) for source in select.sources]
    assert kinds == [
        (JoinKind.CROSS, TableName, "AS a"),
        (JoinKind.LEFT, Derived, "b"),
        (JoinKind.CROSS, Constant, "r"),
        (JoinKind.INNER, TableName, ""),
        (JoinKind.ANTI, TableName, ""),
        (JoinKind.CROSS, RowFunction, "AS e(x)"),
    ]
    assert [blocks.slice(source.on) for source in select.sources if source.on] == [
        "a.x = b.x AND left(a.s, 1) = 'x'",
        "true",
    ]
    assert select.sources[3].using == ("k", "`l m`")


def test_set_operations_lean_to_the_left_and_intersect_binds_closer():
    blocks, query = blocks_of(
        "SELECT a FROM t UNION ALL SELECT b FROM u INTERSECT SELECT c FROM v EXCEPT (SELECT d FROM w)"
    )
    outer = query.body
    assert isinstance(outer, SetOperation)
    assert (outer.kind, outer.all) == (SetKind.EXCEPT, False)
    inner = outer.left.body
    assert isinstance(inner, SetOperation)
    assert (inner.kind, inner.all) == (SetKind.UNION, True)
    assert isinstance(inner.right.body, SetOperation)
    assert blocks.slice(outer.span).endswith("(SELECT d FROM w)")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT * FROM a NATURAL JOIN b", "NATURAL JOIN is recomputed in full"),
        ("SELECT * FROM a JOIN (b JOIN c ON true) ON true", "joins in parentheses are recomputed in full"),
        ("SELECT * FROM a, LATERAL (SELECT a.x)", "a LATERAL query is recomputed in full"),
        ("SELECT 1 FROM a UNION BY NAME SELECT 2 FROM b", "UNION BY NAME is recomputed in full"),
        ("WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x FROM r) SELECT * FROM r", "WITH RECURSIVE is brought"),
    ],
)
def test_what_is_not_known_is_refused_with_its_name(text, why):
    with pytest.raises(NotInBlocks, match=why):
        blocks_of(text)


LARGE = [query for corpus in corpora() for query in corpus.queries if corpus.title != "Spark SQL"]


@pytest.mark.parametrize("query", LARGE, ids=lambda query: query.name)
def test_the_large_corpora_are_taken_apart_and_agree_with_the_parser(query):
    assert blocks_of(query.text) is not None
