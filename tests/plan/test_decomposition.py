"""What becomes of a query with mutual recursion."""

# ruff: noqa: E501  a line is read best as it is printed
from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from airflow_trickle.definition.load import load_project
from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import plan_path
from airflow_trickle.plan.decomposition import (
    declared_tables,
    decomposition_json,
    decomposition_of,
    decomposition_text,
)
from tests.yaml_files import planned, write

QUERY = """\
WITH RECURSIVE
  red(n) AS (
    SELECT dst FROM red_edges WHERE src = 1
    UNION
    SELECT e.dst FROM blue JOIN red_edges e ON blue.n = e.src
  ),
  blue(n) AS (SELECT e.dst FROM red JOIN blue_edges e ON red.n = e.src)
SELECT n FROM red
UNION
SELECT n FROM blue
"""
HEAD = "pipeline: p\nschedule: 1h\nsources: [red_edges, blue_edges]\n"


def entry(name: str, more: str = "") -> str:
    return f"  {name}:\n{indent(dedent(more), '    ')}    query: |\n{indent(QUERY, '      ')}"


def project(folder: Path, more: str = "", head: str = HEAD) -> Path:
    text = f"{head}stream_tables:\n  plain: {{query: SELECT * FROM red_edges}}\n{entry('reach', more)}"
    return write(folder, {"p.yaml": text})


def test_members_are_told_with_their_queries(tmp_path):
    told = decomposition_of(project(tmp_path), "reach")
    lines = "\n".join(decomposition_text(told)).replace(f"{tmp_path}/", "")
    assert lines == dedent("""\
        Stream table reach (p.yaml:6:3)
          The CTEs red and blue read each other.

        reach__red: the CTE red
          WITH
            red(n) AS (
              SELECT dst FROM red_edges WHERE src = 1
              UNION
              SELECT e.dst FROM reach__blue AS blue JOIN red_edges e ON blue.n = e.src
            )
          SELECT * FROM red

        reach__blue: the CTE blue
          WITH
            blue(n) AS (SELECT e.dst FROM reach__red AS red JOIN blue_edges e ON red.n = e.src)
          SELECT * FROM blue

        reach: the query behind WITH
          SELECT n FROM reach__red AS red
          UNION
          SELECT n FROM reach__blue AS blue

        Cycles and strata
          reach__blue and reach__red form a cycle at stratum 0; reach will be at stratum 0
          reach__red reads reach__blue, inside the cycle: MONOTONE, a row more only ever adds rows: project, union, inner join
          reach__red reads red_edges: MONOTONE, a row more only ever adds rows: project, union, filter
          reach__blue reads blue_edges: MONOTONE, a row more only ever adds rows: project, inner join
          reach__blue reads reach__red, inside the cycle: MONOTONE, a row more only ever adds rows: project, inner join
          reach reads reach__blue: MONOTONE, a row more only ever adds rows: union, project
          reach reads reach__red: MONOTONE, a row more only ever adds rows: union, project

        To watch it
          trickle sccs   the passes of its last refresh, when and whether it settled
          trickle history --iterations reach__blue   what each pass changed""")
    shown = decomposition_json(told)
    assert (shown["table"], shown["identifier"], shown["pipeline"]) == ("reach", "default.reach", "p")
    assert shown["mutual_recursion"] is True
    assert shown["groups"] == [["red", "blue"]]
    assert [(one["table"], one["cte"]) for one in shown["members"]] == [
        ("reach__red", "red"),
        ("reach__blue", "blue"),
        ("reach", None),
    ]


def test_a_plain_table_stays_one(tmp_path):
    told = decomposition_of(project(tmp_path), "default.plain")
    assert decomposition_text(told) == ["Stream table plain has no mutual recursion: it stays one table."]
    shown = decomposition_json(told)
    assert (shown["mutual_recursion"], shown["groups"], shown["members"], shown["suggestion"]) == (False, [], [], None)


def test_the_members_are_those_of_the_plan(tmp_path):
    (plan,) = plan_path(project(tmp_path), Settings()).plans
    queries = {table.name: table.query for table in plan.tables if table.name != "plain"}
    told = decomposition_of(tmp_path, "reach")
    assert {one["table"]: one["query"] for one in decomposition_json(told)["members"]} == queries


def test_names_that_are_taken_are_left_alone_as_in_the_plan(tmp_path):
    # The first table takes a name that the CTE of the second one would get.
    text = f"{HEAD}stream_tables:\n  reach__blue: {{query: SELECT 1}}\n{entry('a')}{entry('reach')}"
    text = text.replace("  a:\n", "  reach__red:\n", 1)
    folder = write(tmp_path, {"p.yaml": text})
    (plan,) = plan_path(folder, Settings()).plans
    for name in ("reach__red", "reach"):
        told = decomposition_json(decomposition_of(folder, name))
        made = {table.name for table in plan.tables if name in (table.name, table.made_from)}
        assert {one["table"] for one in told["members"]} == made


def test_the_name_of_another_pipelines_table_is_not_taken_from_those_who_read_it(tmp_path):
    reader = "  reader: {query: SELECT * FROM reach__red}\n"
    text = f"{HEAD}stream_tables:\n{reader}{entry('reach')}"
    other = "pipeline: other\nnamespace: other\nstream_tables: {reach__red: {query: SELECT 1 AS n}}\n"
    folder = write(tmp_path, {"p.yaml": text, "other.yaml": other})
    for path in (folder, folder / "p.yaml"):
        plan = next(plan for plan in plan_path(path, Settings()).plans if plan.pipeline == "p")
        tables = {table.name: table for table in plan.tables}
        assert set(tables) == {"reader", "reach", "reach__red_2", "reach__blue"}
        assert [ref.identifier for ref in tables["reader"].inputs] == ["other.reach__red"]
        told = decomposition_json(decomposition_of(path, "reach"))
        assert [one["table"] for one in told["members"]] == ["reach__red_2", "reach__blue", "reach"]


def test_the_iceberg_table_of_a_source_is_not_written_to(tmp_path):
    head = HEAD.replace("sources: [red_edges, blue_edges]", "sources: {red_edges: {}, blue_edges: {table: reach__red}}")
    (plan,) = plan_path(project(tmp_path, head=head), Settings()).plans
    assert {table.name for table in plan.tables} == {"plain", "reach", "reach__red_2", "reach__blue"}


def test_a_name_that_stands_for_nothing_is_not_given_a_meaning(tmp_path):
    text = f"{HEAD}stream_tables:\n  reader: {{query: SELECT * FROM reach__red}}\n{entry('reach')}"
    (problem,) = plan_path(write(tmp_path, {"p.yaml": text}), Settings()).problems
    assert "'reach__red' is neither a source nor a stream table" in problem.message


@pytest.mark.parametrize(
    ("defaults", "own"),
    [
        ("refresh_mode: FULL", "refresh_mode: AUTO"),
        ("diamond_schedule_policy: fastest", "diamond_schedule_policy: slowest"),
        ("tags: [a]", "tags: []"),
        ("schedule: 5m, owner: me", "schedule: 10m"),
    ],
)
def test_the_suggestion_keeps_what_differs_from_the_defaults_of_the_file(tmp_path, defaults, own):
    head = f"{HEAD}defaults: {{{defaults}}}\n"
    old = project(tmp_path / "old", f"{own}\n", head)
    suggestion = decomposition_of(old, "reach").suggestion
    (before,) = load_project(old).pipelines
    (after,) = load_project(write(tmp_path / "new", {"p.yaml": head + suggestion})).pipelines
    was = next(table for table in before.tables if table.name == "reach")
    for table in after.tables:
        for key in ("schedule", "owner", "tags", "diamond_schedule_policy", "diamond_consistency"):
            assert getattr(table, key) == getattr(was, key)
        assert table.refresh_mode == (was.refresh_mode if table.name == "reach" else "DIFFERENTIAL")


@pytest.mark.parametrize(("allowed", "expected"), [("unsafe", "unsafe"), ("true", "true"), ("false", "true")])
def test_the_suggestion_does_not_make_an_unsafe_file_a_strict_one(tmp_path, allowed, expected):
    folder = project(tmp_path, head=f"{HEAD}allow_circular: {allowed}\n")
    assert decomposition_of(folder, "reach").suggestion.startswith(f"allow_circular: {expected}\n")


@pytest.mark.parametrize(
    "more",
    [
        "",
        "mutual_recursion: suggest\n",
        "schedule: 5m\nowner: me\ntags: [a, 'b: c']\ndescription: 'It''s: \"so\" # far'\n",
        "refresh_mode: FULL\nmax_fixpoint_iterations: 7\ndiamond_consistency: none\n",
        "diamond_schedule_policy: fastest\nschedule: calculated\n",
    ],
)
def test_the_suggestion_is_a_valid_pipeline_that_means_the_same(tmp_path, more):
    suggestion = decomposition_of(project(tmp_path / "old", more), "reach").suggestion
    result = planned(tmp_path / "new", {"p.yaml": HEAD + suggestion})
    assert result.problems == ()
    auto = more.replace("mutual_recursion: suggest\n", "")
    (before,) = plan_path(project(tmp_path / "auto", auto), Settings()).plans
    (after,) = result.plans
    old = {table.name: table for table in before.tables if table.name != "plain"}
    assert {table.name for table in after.tables} == set(old)
    for table in after.tables:
        told = old[table.name]
        assert (table.query, table.definition, table.inputs and table.stratum, table.mode) == (
            told.query,
            told.definition,
            told.inputs and told.stratum,
            told.mode,
        )
        assert (table.schedule, table.owner, table.tags) == (told.schedule, told.owner, told.tags)
    (cycle,) = [part for part in after.components if part.cyclic]
    assert cycle.max_iterations == next(part.max_iterations for part in before.components if part.cyclic)


def test_a_file_that_is_refused_for_its_mutual_recursion_can_be_asked(tmp_path):
    folder = project(tmp_path, head=HEAD + "mutual_recursion: suggest\n")
    (problem,) = plan_path(folder, Settings()).problems
    assert problem.hint.endswith(decomposition_of(folder, "reach").suggestion.rstrip("\n"))


def test_what_cannot_be_taken_apart_is_told_with_its_place(tmp_path):
    query = QUERY.replace("WITH RECURSIVE", "SELECT * FROM (WITH RECURSIVE").rstrip() + ")\n"
    text = f"{HEAD}stream_tables:\n  reach:\n    query: |\n{indent(query, '      ')}"
    told = decomposition_of(write(tmp_path, {"p.yaml": text}), "reach")
    assert told.problems == plan_path(tmp_path, Settings()).problems
    assert told.problems[0].at.file == f"{tmp_path}/p.yaml"
    assert told.suggestion is None


def test_tables_are_found_by_name_or_identifier_in_any_case(tmp_path):
    loaded = load_project(project(tmp_path))
    assert declared_tables(loaded) == ("default.plain", "default.reach")
    for name in ("reach", "REACH", "default.reach"):
        assert decomposition_of(loaded, name).table.name == "reach"
    assert decomposition_of(loaded, "nothing") is None
