"""Answers of Spark that are remembered: for the very same question alone, and not too many of them."""

from __future__ import annotations

from airflow_trickle.engine.delta.context import Column
from airflow_trickle.engine.delta.schema_cache import Answers, Shape, question, renamed, shapes_of

A, B, C = ("trickle_" + digit * 32 for digit in "abc")
LONG, TEXT = Shape(columns='{"long"}'), Shape(columns='{"text"}')


def test_views_come_behind_those_that_they_read() -> None:
    known = {A: LONG, B: Shape(sql=f"SELECT * FROM {A}"), C: Shape(sql=f"SELECT * FROM {B} JOIN {A}")}
    found = shapes_of(f"SELECT * FROM {C}", known)
    assert found is not None
    assert list(found) == [A, B, C]


def test_nothing_is_known_of_a_query_over_an_unknown_view() -> None:
    assert shapes_of(f"SELECT * FROM {A} JOIN {B}", {A: LONG}) is None
    assert shapes_of(f"SELECT * FROM {B}", {B: Shape(sql=f"SELECT * FROM {A}")}) is None


def test_a_question_is_another_one_if_anything_that_decides_the_answer_is() -> None:
    text = f"SELECT * FROM {A} JOIN {B}"
    same = question("columns", text, {A: LONG, B: TEXT}, "m")
    assert same == question("columns", f"SELECT * FROM {B} JOIN {C}", {B: LONG, C: TEXT}, "m")
    others = [
        question("resolves", text, {A: LONG, B: TEXT}, "m"),
        question("columns", text, {A: LONG, B: TEXT}, "n"),
        question("columns", text, {A: LONG, B: LONG}, "m"),
        question("columns", text, {A: TEXT, B: LONG}, "m"),
        question("columns", f"SELECT * FROM {A} JOIN {A}", {A: LONG}, "m"),
        question("columns", text + " ", {A: LONG, B: TEXT}, "m"),
    ]
    assert len({same, *others}) == 1 + len(others)


def test_a_question_over_a_view_of_a_query_depends_on_what_that_reads() -> None:
    known = {B: Shape(sql=f"SELECT k FROM {A}")}
    first, second = (shapes_of(f"SELECT * FROM {B}", {**known, A: one}) for one in (LONG, TEXT))
    assert first is not None
    assert second is not None
    assert question("columns", f"SELECT * FROM {B}", first, "") != question("columns", f"SELECT * FROM {B}", second, "")


def test_the_answers_that_were_used_last_stay() -> None:
    answers = Answers(most=2)
    answers.put("a", (Column("x", "int"),))
    answers.put("b", True)
    assert answers.get("a") == (Column("x", "int"),)
    answers.put("c", False)
    assert (answers.get("b"), answers.get("c")) == (None, False)
    answers.clear()
    assert answers.get("c") is None


def test_views_of_a_query_get_other_names() -> None:
    assert renamed(f"SELECT * FROM `{A}` JOIN {B}", {A: "x"}) == f"SELECT * FROM `x` JOIN {B}"
