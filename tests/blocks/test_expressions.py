"""Questions about the words of an expression."""

from __future__ import annotations

import pytest

from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.expressions import conjuncts, has_distinct, has_sliding_window, probe_of, star_in_call
from airflow_trickle.blocks.shapes import Select


def select_of(text):
    blocks, query = blocks_of(text)
    assert isinstance(query.body, Select)
    return blocks, query.body


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        ("a AND b", ["a", "b"]),
        ("a BETWEEN 1 AND 2 AND b", ["a BETWEEN 1 AND 2", "b"]),
        ("(a AND b) AND f(c AND d)", ["(a AND b)", "f(c AND d)"]),
        ("a AND b OR c", []),
        ("CASE WHEN a AND b THEN c END AND d", []),
    ],
)
def test_a_conjunction_is_cut_at_its_own_ands(condition, parts):
    blocks, select = select_of(f"SELECT 1 FROM t WHERE {condition}")
    assert select.where is not None
    assert [blocks.slice(part.span) for part in conjuncts(blocks.cursor(select.where))] == parts


@pytest.mark.parametrize(
    ("condition", "probe"),
    [
        ("k IN (SELECT 1)", "k"),
        ("a AND t.`k l` NOT IN (SELECT 1)", "t.`k l`"),
        ("coalesce(s, 1) IN (SELECT 1)", "coalesce(s, 1)"),
        ("v IN (1, 2) AND v BETWEEN 0 AND 9 AND k IN (SELECT 1)", "k"),
        ("v = 5 OR k IN (SELECT 1)", None),
        ("k + 1 IN (SELECT 1)", None),
        ("(k, l) IN (SELECT 1, 2)", None),
        ("NOT k IN (SELECT 1)", None),
        ("k = 1 IN (SELECT 1)", None),
    ],
)
def test_what_in_looks_for_is_told_only_beyond_doubt(condition, probe):
    blocks, select = select_of(f"SELECT 1 FROM t WHERE {condition}")
    assert select.where is not None
    subquery = list(blocks.subqueries(select.where))[-1]
    found = probe_of(blocks, select.where, subquery)
    assert (None if found is None else blocks.slice(found)) == probe


@pytest.mark.parametrize(
    ("column", "is_star"),
    [
        ("struct(*)", True),
        ("hash(k, *)", True),
        ("to_json(struct(t.*))", True),
        ("k * 2", False),
        ("(SELECT count(*) FROM u)", False),
    ],
)
def test_a_star_inside_a_function_is_seen(column, is_star):
    blocks, select = select_of(f"SELECT {column} AS c FROM t")
    assert (star_in_call(blocks, [select.items[0].span]) is not None) == is_star


def test_calls_know_what_they_are_called_with():
    keys = "window(ts, '1 hour', '5 minutes'), window(ts, '1 day')"
    blocks, select = select_of(f"SELECT count(DISTINCT a), sum(b) FROM t GROUP BY {keys}")
    assert [has_distinct(blocks, call) for item in select.items for call in blocks.calls(item.span)] == [True, False]
    assert [has_sliding_window(blocks, key) for key in select.keys] == [True, False]
