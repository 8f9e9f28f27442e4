"""One stream table, explained."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from airflow_trickle.plan.build import PlannedProject
from airflow_trickle.plan.explain_table import explain_table_json, explain_table_text
from airflow_trickle.plan.overview import groups_overview, sccs_overview, strata_overview
from tests.yaml_files import planned

FILES = {
    "a.yaml": """
        pipeline: colours
        schedule: 1h
        sources: [red_edges, blue_edges]
        stream_tables:
          reach:
            description: |
              Where one gets
              in the end.
            schedule: 5m
            query: |
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
        """,
    "b.yaml": """
        pipeline: lucky
        namespace: luck
        sources: [s]
        diamond_consistency: none
        stream_tables:
          some:
            query: |
              SELECT *, rand() AS r
              FROM reach
              LIMIT 3
          left: {query: SELECT count(*) AS n FROM s}
          right: {query: SELECT * FROM s}
          both: {query: "SELECT * FROM left, right"}
        """,
}


@pytest.fixture
def project(tmp_path: Path) -> PlannedProject:
    result = planned(tmp_path, FILES)
    assert result.problems == ()
    return result


def text_of(project: PlannedProject, identifier: str, folder: Path) -> str:
    return "\n".join(explain_table_text(project, identifier)).replace(f"{folder}/", "") + "\n"


def reason(project: PlannedProject, identifier: str) -> str:
    return next(one.reason for plan in project.plans for one in plan.tables if one.identifier == identifier)


def test_a_member_of_a_cycle_made_from_a_cte(project, tmp_path):
    assert text_of(project, "default.reach__red", tmp_path) == dedent(f"""\
        Stream table reach__red (default.reach__red)
          The CTE 'red' of 'reach'.
          declared   a.yaml:5:3
          pipeline   colours (a.yaml)
          unit       cycle_reach__blue, a cycle, brought to its fixed point: reach__blue, reach__red
          stratum    0
          cycle      1: reach__blue, reach__red; monotone, at most 100 iterations
          group      not part of a diamond
          schedule   5m (the pipeline's is 1h)
          asked for  refresh_mode: AUTO
          mode       DIFFERENTIAL ({reason(project, "default.reach__red")})

        Reads
          reach__blue (default.reach__blue), a stream table
            MONOTONE: a row more only ever adds rows: project, union, inner join
          red_edges (default.red_edges), a source
            MONOTONE: a row more only ever adds rows: project, union, filter

        Read by
          reach__blue (default.reach__blue)
            MONOTONE: a row more only ever adds rows: project, inner join
          reach (default.reach)
            MONOTONE: a row more only ever adds rows: union, project

        Query
          WITH
            red(n) AS (
              SELECT dst FROM red_edges WHERE src = 1
              UNION
              SELECT e.dst FROM reach__blue AS blue JOIN red_edges e ON blue.n = e.src
            )
          SELECT * FROM red

        Operators
          with
            cte red(n)
              union
                project dst
                  filter src = 1
                    scan red_edges
                project e.dst
                  inner join on blue.n = e.src
                    scan reach__blue as blue
                    scan red_edges as e
            project *
              read cte red

        Mutual recursion
          In the query of reach, the CTEs red and blue read each other. Each became a stream table:
            red -> reach__red
            blue -> reach__blue
          The query as it was written:
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
        """)


def test_operators_that_can_only_be_recomputed_are_marked(project, tmp_path):
    text = text_of(project, "luck.some", tmp_path)
    assert (
        dedent("""\
        Reads
          reach (default.reach), a stream table of another pipeline
            NON_MONOTONE: it is the input of LIMIT (line 3 of the query)

        Read by
          nothing
        """)
        in text
    )
    assert text.endswith(
        dedent("""\
        Operators
          top 3 rows in any order  -- only in full: LIMIT without ORDER BY takes any rows, others on every run
            project *, RAND() AS r
              scan reach

        Only in full, because
          line 1: rand() answers differently on every run
          line 3: LIMIT without ORDER BY takes any rows, others on every run
        """)
    )


def test_the_table_over_a_mutual_recursion_has_its_query_and_its_ctes(project):
    told = explain_table_json(project, "default.reach")
    assert told["mutual_recursion"]["table"] == "reach"
    assert told["mutual_recursion"]["groups"] == [["red", "blue"]]
    assert told["mutual_recursion"]["members"] == {"red": "reach__red", "blue": "reach__blue"}
    assert told["mutual_recursion"]["query"].startswith("WITH RECURSIVE\n")
    assert told["query"] == "SELECT n FROM reach__red AS red\nUNION\nSELECT n FROM reach__blue AS blue\n"
    assert told["scc"] is None
    assert [one["table"] for one in told["read_by"]] == ["some"]
    assert told["read_by"][0]["pipeline"] == "lucky"


def test_a_description_is_one_line(project):
    assert explain_table_text(project, "default.reach")[1] == "  Where one gets in the end."


def test_a_group_that_is_not_atomic_says_why(project, tmp_path):
    assert (
        "  group      1: left, right, both; paths meet in both; published one by one, because "
        "diamond_consistency: none is set for at least one of its tables\n"
    ) in text_of(project, "luck.both", tmp_path)
    assert "  schedule   none, by hand only\n" in text_of(project, "luck.both", tmp_path)


def test_json_has_what_the_text_says(project):
    told = explain_table_json(project, "luck.some")
    assert json.loads(json.dumps(told)) == told
    assert told["unit"] == {"unit": "some", "kind": "table", "tables": ["some"], "upstream": []}
    assert (told["table"], told["identifier"], told["pipeline"], told["stratum"]) == ("some", "luck.some", "lucky", 1)
    assert (told["requested_mode"], told["refresh_mode"]) == ("AUTO", "FULL")
    assert told["full_because"] == [
        {"line": 1, "why": "rand() answers differently on every run"},
        {"line": 3, "why": "LIMIT without ORDER BY takes any rows, others on every run"},
    ]
    assert told["warnings"] == []
    assert told["depends_on"][0]["external"] is True
    assert told["mutual_recursion"] is None


def test_a_message_that_breaks_off_is_for_the_unnamed_too(tmp_path):
    arms = "".join(f"  a{number}: {{query: SELECT * FROM s}}\n" for number in range(8))
    meet = ", ".join(f"a{number}" for number in range(8))
    rest = f"  z: {{query: 'SELECT * FROM {meet}', diamond_consistency: none}}\n  y: {{query: SELECT 1}}\n"
    text = f"pipeline: p\nsources: [s]\nstream_tables:\n{arms}{rest}"
    result = planned(tmp_path, {"p.yaml": text})
    (warning,) = explain_table_json(result, "default.a7")["warnings"]
    assert "and 3 more form a diamond" in warning
    assert explain_table_json(result, "default.y")["warnings"] == []


def test_an_unknown_table_is_a_mistake_of_the_caller(project):
    with pytest.raises(KeyError):
        explain_table_json(project, "default.nothing")


def test_strata_are_told_with_their_cycles_and_reads(project):
    assert strata_overview(project) == [
        {
            "stratum": 0,
            "members": ["reach__blue", "reach__red", "reach", "right"],
            "has_cycles": True,
            "non_monotone_edges": 0,
        },
        {"stratum": 1, "members": ["left", "both", "some"], "has_cycles": False, "non_monotone_edges": 2},
    ]


def test_components_know_the_query_they_were_made_from(project):
    found = sccs_overview(project)
    assert [(one["members"], one["cyclic"], one["max_iterations"]) for one in found if one["cyclic"]] == [
        (["reach__blue", "reach__red"], True, 100)
    ]
    assert [one["table"] for one in found[0]["mutual_recursion"]] == ["reach"]
    assert found[0]["mutual_recursion"][0]["query"].startswith("WITH RECURSIVE")
    assert all(one["mutual_recursion"] == [] for one in found[1:])
    assert len(found) == 6


def test_groups_have_the_schedule_of_what_is_published_together(tmp_path):
    files = {
        "p.yaml": """
            pipeline: p
            schedule: 1h
            sources: [s]
            stream_tables:
              a: {query: SELECT * FROM s, schedule: 2h}
              b: {query: "SELECT * FROM a, s", diamond_schedule_policy: fastest}
            """,
        "q.yaml": """
            pipeline: q
            sources: [s]
            stream_tables:
              c: {query: "SELECT * FROM b, s"}
            """,
    }
    (group,) = groups_overview(planned(tmp_path, files))
    assert (group["atomic"], group["published"]) == (False, "in parts")
    assert group["not_atomic_because"] == (
        "its tables are in several pipelines ('p' and 'q'), and each of them publishes by itself"
    )
    assert group["parts"] == [
        {"pipeline": "p", "members": ["a", "b"], "atomic": True, "schedule_policy": "fastest", "schedule": "1h"}
    ]
    (alone,) = groups_overview(planned(tmp_path / "alone", {"p.yaml": files["p.yaml"]}))
    assert (alone["atomic"], alone["published"], alone["not_atomic_because"]) == (True, "in one commit", None)
