"""TPC-H, TPC-DS and our own Spark SQL: every query that Spark accepts gives a complete tree, or a reason is listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from airflow_trickle.algebra import nodes, references
from airflow_trickle.algebra.nodes import Node
from airflow_trickle.algebra.render import tree_text
from airflow_trickle.algebra.scalars import LIFTED
from tests.algebra.spark_plans import shape_of_plan, shape_of_tree
from tools import sql_report
from tools.sql_corpora import ADAPTATIONS, NO_TREE, Corpus, corpora
from tools.sql_report import REPORT, Answer, ask, every_node, report, tables_of_plan

TITLES = ("TPC-H", "TPC-DS", "Spark SQL")
#: Where Spark's plan and our tree differ, and why that is right.
OTHER_SHAPE = {
    "grouping: group by the position of a subquery": "Spark shows the subquery twice, in the key and in the column",
    "subqueries: exists with a limit": "a LIMIT inside EXISTS changes nothing, so the tree has none",
    "subqueries: in values": "a list of constants is a plain condition in our tree",
}


@cache
def loaded() -> dict[str, Corpus]:
    return {corpus.title: corpus for corpus in corpora()}


#: Several tests look at every query; each is parsed once.
parse_query, judge = cache(references.parse_query), cache(sql_report.judge)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def tables_by_duckdb(connection: duckdb.DuckDBPyConnection, text: str) -> set[str]:
    """The tables of a query by DuckDB's own parser: those in FROM without the names of CTEs."""
    found = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchone()
    assert found is not None
    parsed = json.loads(found[0])
    assert not parsed["error"], parsed
    ctes = {entry["key"].casefold() for node in walk(parsed) for entry in node.get("cte_map", {}).get("map", ())}
    tables = {node["table_name"].casefold() for node in walk(parsed) if node.get("type") == "BASE_TABLE"}
    return tables - ctes


def walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from walk(item)


# --- without Spark -------------------------------------------------------------------------------


def test_the_corpora_are_whole():
    assert [len(loaded()[title].queries) for title in TITLES[:2]] == [22, 99]
    assert len(loaded()["Spark SQL"].queries) >= 120
    for corpus in loaded().values():
        names = [query.name for query in corpus.queries]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("title", TITLES[:2])
def test_every_benchmark_query_gives_a_complete_tree(title):
    gaps = {query.name: judge(query.text).gap for query in loaded()[title].queries}
    assert {name: gap for name, gap in gaps.items() if gap is not None} == {}


@pytest.mark.parametrize("title", TITLES)
def test_the_answer_of_a_subquery_is_looked_up_below_the_operator_that_uses_it(title):
    for query in loaded()[title].queries:
        tree = parse_query(query.text).tree
        for node in every_node(tree) if tree is not None else ():
            known = {one.name for one in every_node(node) if isinstance(one, nodes.Lookup)}
            assert answers_used(node) <= known, (query.name, tree_text(node))


def answers_used(node: Node) -> set[str]:
    """The names of looked up answers in the expressions of a node, such as $1."""
    found = set()
    for value in (getattr(node, field.name) for field in fields(node)):
        for scalar in value if isinstance(value, tuple) else (value,):
            expression = getattr(getattr(scalar, "value", scalar), "expression", None)
            if isinstance(expression, exp.Expr):
                inner = expression.walk(prune=lambda one: LIFTED in one.meta)
                found |= {one.meta[LIFTED] for one in inner if LIFTED in one.meta}
    return found


@pytest.mark.parametrize("title", TITLES[:2])
def test_the_tables_of_a_benchmark_query_are_those_that_duckdb_finds(connection, title):
    for query in loaded()[title].queries:
        found = judge(query.text).tables
        assert found == tables_by_duckdb(connection, query.text), query.name
        assert found <= set(loaded()[title].tables)


@pytest.mark.parametrize("title", TITLES)
def test_every_tree_can_be_shown(title):
    trees = (parse_query(query.text).tree for query in loaded()[title].queries)
    assert all(tree_text(tree) for tree in trees if tree is not None)


def test_queries_without_a_complete_tree_are_exactly_those_listed_with_a_reason():
    gaps = {query.name for query in loaded()["Spark SQL"].queries if judge(query.text).gap is not None}
    assert gaps == set(NO_TREE)
    assert all(NO_TREE.values())


def test_what_must_never_be_a_stream_table_is_refused_with_a_message():
    texts = {query.name: query.text for query in loaded()["Spark SQL"].queries}
    samples = [text for name, text in texts.items() if name.startswith("refused: tablesample")]
    assert len(samples) == 6
    for text in samples:
        assert [one.message.partition(" ")[0] for one in parse_query(text).problems] == ["TABLESAMPLE"], text
    for name in ("version as of", "timestamp as of"):
        assert parse_query(texts[f"refused: {name}"]).problems, name


def test_an_adaptation_changes_nothing_for_the_parser():
    changed = 0
    for query in loaded()["TPC-DS"].queries:
        text = query.text
        for one in ADAPTATIONS:
            text = one.pattern.sub(one.replacement, text)
        changed += text != query.text
        assert judge(text) == judge(query.text), query.name
    assert changed == 8


def test_the_report_tells_when_spark_reads_other_tables():
    corpus = Corpus("C", "About it.", loaded()["TPC-H"].queries[5:6], {})
    text = report([(corpus, {"Q06": Answer(corpus.queries[0].text, plan="View (`orders`, [])")})])
    assert "| Q06 | as is | complete; reads lineitem, to Spark orders | DIFFERENTIAL | lineitem (aggregate) |" in text


def test_the_report_tells_why_spark_refuses():
    corpus = Corpus("C", "About it.", loaded()["TPC-H"].queries[5:6], {})
    text = report([(corpus, {"Q06": Answer("SELECT a FROM t |> SELECT a", refused="NO_WAY")})])
    assert "| Q06 | refused (NO_WAY) | opaque: the pipe syntax \\|> is not understood | FULL: " in text
    assert "| C | 1 | 0 | 0 | 1 | 0 of 0 |" in text


# --- with Spark ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answers(spark_home: Path) -> dict[str, dict[str, Answer]]:
    """What Spark says; each corpus has a session of its own, since the benchmarks share names of tables."""
    from airflow_trickle.spark.session import close, connect
    from airflow_trickle.spark.target import SparkTarget

    found = {}
    for title, corpus in loaded().items():
        session = connect(SparkTarget(), app="tests")
        try:
            found[title] = ask(session, corpus)
        finally:
            close(session)
    return found


def test_the_committed_report_is_up_to_date(answers):
    written = report((corpus, answers[title]) for title, corpus in loaded().items())
    assert written == REPORT.read_text(encoding="utf-8"), "run: make sql-report"


@pytest.mark.parametrize("title", TITLES[:2])
def test_spark_accepts_every_benchmark_query(answers, title):
    refused = {name: answer.refused for name, answer in answers[title].items() if not answer.adapted}
    assert {name: why for name, why in refused.items() if why is not None} == {}


def test_what_spark_accepts_gives_a_complete_tree_or_a_reason_is_listed(answers):
    accepted = {name for name, answer in answers["Spark SQL"].items() if answer.refused is None}
    gaps = {query.name for query in loaded()["Spark SQL"].queries if judge(query.text).gap is not None}
    assert (gaps & accepted) <= set(NO_TREE)
    assert len(accepted - gaps) >= 300


@pytest.mark.parametrize("title", TITLES)
def test_the_tables_read_are_those_of_sparks_plan(answers, title):
    for name, answer in answers[title].items():
        verdict = judge(answer.text)
        if answer.plan and verdict.mode:
            assert verdict.tables == tables_of_plan(answer.plan), name


@pytest.mark.parametrize("title", TITLES)
def test_the_tree_has_the_operators_of_sparks_plan_over_the_same_tables(answers, title):
    other = {}
    for name, answer in answers[title].items():
        tree = parse_query(answer.text).tree
        if answer.plan and tree is not None and judge(answer.text).gap is None:
            ours, sparks = shape_of_tree(tree), shape_of_plan(answer.plan)
            if ours != sparks:
                other[name] = (ours - sparks, sparks - ours)
    assert set(other) == {name for name in OTHER_SHAPE if name in answers[title]}, other
