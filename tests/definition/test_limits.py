"""One bad file must not stop the others: limits before anything is parsed, and every file by itself."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.analysis import graph
from airflow_trickle.definition import load
from airflow_trickle.definition.limits import MAX_DEPTH, MAX_FILE_BYTES
from airflow_trickle.plan.build import PlannedProject, plan_path
from tests import budgets

GOOD = "pipeline: good\nsources: {t: {}}\nstream_tables:\n  s: {query: SELECT id FROM t}\n"


def pipeline(query: str) -> str:
    return f"pipeline: bad\nsources: {{t: {{}}}}\nstream_tables:\n  b:\n    query: |\n      {query}\n"


def alias_bomb(levels: int = 9) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
    return "\n".join(f"      {line}" for line in lines)


def merge_bomb(levels: int = 12) -> str:
    lines = ["m0: &m0 {k: v}"]
    for level in range(1, levels):
        lines.append(f"m{level}: &m{level} {{<<: [{', '.join([f'*m{level - 1}'] * 9)}]}}")
    return "\n".join(f"      {line}" for line in lines)


def with_config(text: str) -> str:
    return f"{pipeline('SELECT id FROM t')}    executor_config:\n{text}\n"


#: What is wrong -> a file, and a part of what is said of it.
BAD: dict[str, tuple[str, str]] = {
    "nested mappings": ("pipeline: bad\nstream_tables: " + "{a: " * 600 + "1" + "}" * 600, "100 levels deep"),
    "many opening brackets": ("pipeline: " + "[" * 200_000, "100 levels deep"),
    "nested block lists": ("pipeline: bad\nx:\n  " + "- " * 5_000 + "1", "100 levels deep"),
    "an alias bomb": (with_config(alias_bomb()), "more than 200,000 values"),
    "a merge bomb": (with_config(merge_bomb()), "more than 200,000 values"),
    "too large": (GOOD.replace("good", "bad") + "#" * MAX_FILE_BYTES, "more than 4 MiB"),
    "nested subqueries": (pipeline("SELECT * FROM " + "(SELECT * FROM " * 15_000 + "t" + ")" * 15_000), "100 levels"),
    "nested brackets": (pipeline(f"SELECT {'(' * 3_000}1{')' * 3_000} AS x FROM t"), "more than 100 levels deep"),
    "nested types": (
        pipeline(f"SELECT CAST(a AS {'ARRAY<' * 2_000}INT{'>' * 2_000}) AS x FROM t"),
        "more than 40 ARRAY<, MAP< and STRUCT<",
    ),
    "many casts": (pipeline(f"SELECT a{'::INT' * 5_000} AS x FROM t"), "more than 300 '::'"),
    "many NOTs": (pipeline(f"SELECT {'NOT ' * 20_000}true AS x FROM t"), "nested too deep"),
    "a number to the base of 60": (
        pipeline("SELECT id FROM t") + "x: " + ":".join(["59"] * 200_000),
        "too many digits",
    ),
    "a number of a megabyte": (
        pipeline("SELECT id FROM t") + "max_fixpoint_iterations: 0x" + "f" * 1_000_000,
        "has too many digits",
    ),
    "a long schedule": (pipeline("SELECT id FROM t") + f"schedule: {'1h' * 200_000}", "is not one: it has 400,000"),
    "many wrong keys": (
        pipeline("SELECT id FROM t") + "".join(f"k{n}: &a{n} v\n" for n in range(20_000)),
        "the file has 19,800 more problems than are shown",
    ),
    "many keys twice": (pipeline("SELECT id FROM t") + "tags: []\n" * 5_000, "the file has 4,799 more problems"),
    "a long query": (pipeline("SELECT " + ", ".join(f"id AS c{n}" for n in range(90_000)) + " FROM t"), "may have"),
}


def planned_beside_good(folder: Path, name: str, text: str) -> PlannedProject:
    (folder / "a_good.yaml").write_text(GOOD)
    (folder / name).write_text(text)
    return plan_path(folder)


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_named_and_the_good_one_is_planned(tmp_path: Path, what: str) -> None:
    text, told = BAD[what]
    project = planned_beside_good(tmp_path, "bad.yaml", text)
    assert [plan.pipeline for plan in project.plans] == ["good"]
    (broken,) = project.broken
    assert broken.file.endswith("bad.yaml")
    assert any(told in problem.message for problem in broken.problems), broken.problems


@pytest.mark.parametrize("bomb", [alias_bomb, merge_bomb])
def test_a_bomb_in_a_file_that_is_not_a_pipeline_is_passed_over(tmp_path: Path, bomb: Callable[[], str]) -> None:
    project = planned_beside_good(tmp_path, "other.yaml", f"other:\n{bomb()}\n")
    assert ([plan.pipeline for plan in project.plans], project.broken) == (["good"], ())


@pytest.mark.parametrize("name", ["bad.yaml", "query.sql"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    (tmp_path / "reads.yaml").write_text(pipeline("x").partition("    query:")[0] + "    query_file: query.sql\n")
    project = planned_beside_good(tmp_path, "other.yaml", "a: 1")
    assert [plan.pipeline for plan in project.plans] == ["good"]
    assert any("is not a regular file" in str(problem) for problem in project.problems)


def test_whatever_a_file_makes_us_raise_the_others_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = load.Document

    def raising(source: str, file: str) -> load.Document:
        if file.endswith("bad.yaml"):
            raise ArithmeticError("nobody foresaw it")
        return original(source, file)

    monkeypatch.setattr(load, "Document", raising)
    project = planned_beside_good(tmp_path, "bad.yaml", "pipeline: bad")
    assert [plan.pipeline for plan in project.plans] == ["good"]
    assert "the file cannot be understood (ArithmeticError: nobody foresaw it)." in project.problems[0].message


def test_whatever_a_query_makes_the_analysis_raise_the_others_are_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = graph.parse_query

    def raising(text: str) -> object:
        if "nobody" in text:
            raise ArithmeticError("nobody foresaw it")
        return original(text)

    monkeypatch.setattr(graph, "parse_query", raising)
    project = planned_beside_good(tmp_path, "bad.yaml", pipeline("SELECT nobody FROM t"))
    assert [plan.pipeline for plan in project.plans] == ["good"]
    assert "pipeline 'bad' cannot be understood (ArithmeticError: nobody foresaw it)." in project.problems[0].message


def test_what_nests_as_deep_as_allowed_is_read() -> None:
    deep = MAX_DEPTH - 10
    thread_safe = [f"SELECT {'(' * deep}1{')' * deep} AS x FROM t", f"SELECT a{'::INT' * 300} AS x FROM t"]
    wide = ", ".join(f"f{n}: ARRAY<INT>" for n in range(80))
    thread_safe.append(f"SELECT CAST(a AS STRUCT<{wide}>) AS x FROM t")
    from airflow_trickle.algebra.parsing import Statement, parse_statement

    results: list[object] = []
    # In a thread, where the stack is smaller, as a DAG processor may have it.
    worker = threading.Thread(target=lambda: results.extend(parse_statement(text) for text in thread_safe))
    worker.start()
    worker.join()
    assert all(isinstance(result, Statement) for result in results), results


WORDS = r"""
pipeline: p\n|stream_tables:\n|  s:\n|    query: |SELECT 1|SELECT * FROM (|[|]|{|}|&a |*a |<<: *a\n|- |? |: |>\n|'|"|
!!binary |!x |\t|\n| |#|%|sources: [a, b]\n|---\n|...\n|\0|é|0x1f|2026-01-01|~|yes|1e999
"""
PIECES = st.sampled_from(
    [word.replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0") for word in WORDS.split("|")] + ["|\n"]
)


@budgets.budget(2)
@given(st.lists(PIECES, max_size=60).map("".join))
def test_no_text_stops_the_loader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    folder.mkdir(exist_ok=True)
    project = planned_beside_good(folder, "bad.yaml", text)
    assert "good" in [plan.pipeline for plan in project.plans]
    assert not any("cannot be understood" in problem.message for problem in project.problems), text
