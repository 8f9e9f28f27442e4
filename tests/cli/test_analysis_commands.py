"""``trickle explain``, ``strata``, ``sccs`` and ``groups``, and what all commands that explain have in common."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from tests.cli.conftest import Shell

GOOD = """\
pipeline: good
schedule: 1h
allow_circular: true
sources: [t]
stream_tables:
  a: {query: SELECT x FROM t UNION SELECT x FROM b}
  b: {query: SELECT x FROM a}
  counted: {query: SELECT count(*) AS n FROM b}
"""
MUTUAL = """\
pipeline: colours
sources: [red_edges]
stream_tables:
  reach:
    query: |
      WITH RECURSIVE
        red AS (SELECT dst AS n FROM red_edges UNION SELECT n FROM blue),
        blue AS (SELECT n FROM red)
      SELECT n FROM red
"""
DIAMOND = """\
pipeline: d
schedule: 15m
sources: [t]
stream_tables:
  left: {query: SELECT x FROM t}
  right: {query: SELECT x FROM t}
  meet: {query: "SELECT l.x FROM left l JOIN right r ON l.x = r.x"}
"""
SLIP = "pipeline: slip\nstream_tables:\n  b:\n    quary: SELECT 1\n"
COMMANDS = [("explain", "a"), ("graph",), ("strata",), ("sccs",), ("groups",), ("decompose", "a")]


def test_explain_by_name_or_identifier(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    told = shell.ok("explain", "counted").out
    assert told.startswith(
        "Stream table counted (default.counted)\n"
        "  declared   dags/good.yaml:8:3\n"
        "  pipeline   good (dags/good.yaml)\n"
        "  unit       counted, a table by itself\n"
        "  stratum    1\n"
        "  cycle      not part of a cycle\n"
    )
    assert "    NON_MONOTONE: it is the input of an aggregate (COUNT) (line 1 of the query)\n" in told
    assert shell.ok("explain", "DEFAULT.Counted", "dags/good.yaml").out == told
    shown = shell.ok("explain", "b", "--json").json
    assert shown["scc"]["members"] == ["a", "b"]
    assert [one["table"] for one in shown["read_by"]] == ["a", "counted"]
    assert shown["errors"] == []


def test_explain_of_a_name_that_is_no_stream_table(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    near = "There is no stream table 'cuonted' in 'dags'. Did you mean 'counted'?"
    outcome = shell("explain", "cuonted")
    assert (outcome.code, outcome.out, outcome.err) == (1, "", f"error: {near}\n")
    assert shell("explain", "cuonted", "--json").json == {
        "error": {"type": "UnknownTable", "message": near},
        "errors": [],
    }
    assert shell("explain", "t").err == (
        "error: 't' is not a stream table of 'dags', but one that others write: default.t has no query here.\n"
    )


def test_explain_of_a_name_that_fits_two(shell: Shell) -> None:
    shell.write("dags/one.yaml", "pipeline: one\nstream_tables: {t: {query: SELECT 1}}\n")
    shell.write("dags/two.yaml", "pipeline: two\nnamespace: other\nstream_tables: {t: {query: SELECT 1}}\n")
    assert shell("explain", "t").err == ("error: There are several tables 't': default.t, other.t. Use one of these.\n")
    assert shell.ok("explain", "other.t").out.startswith("Stream table other.t\n")


def test_explain_of_a_table_whose_file_is_broken(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    shell.write("dags/m.yaml", MUTUAL.replace("sources:", "mutual_recursion: suggest\nsources:"))
    outcome = shell("explain", "reach")
    assert (outcome.code, outcome.err) == (1, "error: Stream table 'reach' is not planned: its file has errors.\n")
    assert outcome.out.startswith("Not planned:\n  dags/m.yaml:5:3: stream table 'reach': the CTEs 'red' and 'blue' ")
    assert "\n    allow_circular: true\n    stream_tables:\n      reach__red:\n" in outcome.out
    shown = shell("explain", "reach", "--json").json
    assert shown["error"]["type"] == "UnknownTable"
    assert shown["errors"][0]["line"] == 5


def test_strata(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    assert shell.ok("strata").out == (
        "stratum  non-monotone reads  cycles  skipped  tables\n"
        "      0                   0  yes           0  a, b\n"
        "      1                   1  no            0  counted\n"
    )
    assert shell.ok("strata", "--json").json == {
        "strata": [
            {"stratum": 0, "members": ["a", "b"], "has_cycles": True, "non_monotone_edges": 0, "times_skipped": 0},
            {"stratum": 1, "members": ["counted"], "has_cycles": False, "non_monotone_edges": 1, "times_skipped": 0},
        ],
        "catalog_errors": [],
        "errors": [],
    }


def test_sccs(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    assert shell.ok("sccs").out == (
        "scc  cyclic  monotone  cap  iterations  converged  status  tables\n"
        "  1  yes     yes       100           -          -       -  a, b\n"
    )
    assert shell.ok("sccs", "--all").out == (
        "scc  cyclic  monotone  cap  iterations  converged  status  tables\n"
        "  1  yes     yes       100           -          -       -  a, b\n"
        "  2  no      yes         -           -          -       -  counted\n"
    )
    # Looking makes no catalog.
    assert not (shell.folder.parent / "home").exists()
    assert [one["members"] for one in shell.ok("sccs", "--json").json["sccs"]] == [["a", "b"], ["counted"]]


def test_sccs_of_a_mutual_recursion_show_the_query(shell: Shell) -> None:
    shell.write("dags/m.yaml", MUTUAL)
    assert shell.ok("sccs").out == (
        "scc  cyclic  monotone  cap  iterations  converged  status  tables\n"
        "  1  yes     yes       100           -          -       -  reach__blue, reach__red\n"
        "\n"
        "Cycle 1 was made from the mutual recursion in the query of reach:\n"
        "  WITH RECURSIVE\n"
        "    red AS (SELECT dst AS n FROM red_edges UNION SELECT n FROM blue),\n"
        "    blue AS (SELECT n FROM red)\n"
        "  SELECT n FROM red\n"
    )
    (made, _) = shell.ok("sccs", "--json").json["sccs"]
    assert made["mutual_recursion"][0]["table"] == "reach"


def test_groups(shell: Shell) -> None:
    """Design 004 Step 7: test_diamond_groups_sql_function
    Design 004 Step 7: test_diamond_consistency_in_catalog_view
    Design 004 Step 7: test_diamond_consistency_alter
    """
    shell.write("dags/d.yaml", DIAMOND)
    assert shell.ok("groups").out == (
        "group  pipeline  atomic  policy   schedule  epoch  last commit  paths meet in  tables\n"
        "    1  d         yes     slowest  15m           -            -  meet           left, right, meet\n"
    )
    (group,) = shell.ok("groups", "--json").json["groups"]
    assert group["parts"][0]["schedule"] == "15m"
    shell.write("dags/d.yaml", DIAMOND.replace("sources:", "diamond_consistency: none\nsources:"))
    assert shell.ok("groups").out == (
        "group  pipeline  atomic  policy   schedule  epoch  last commit  paths meet in  tables\n"
        "    1  d         no      slowest         -      -            -  meet           left, right, meet\n"
        "Group 1 is published one by one: diamond_consistency: none is set for at least one of its tables.\n"
    )


def test_a_group_that_no_pipeline_has_a_part_of(shell: Shell) -> None:
    shell.write("dags/d.yaml", DIAMOND.partition("  meet:")[0])
    shell.write("dags/e.yaml", "pipeline: e\nstream_tables:\n  meet: {query: 'SELECT * FROM left, right'}\n")
    assert shell.ok("groups").out == (
        "group  pipeline  atomic  policy  schedule  epoch  last commit  paths meet in  tables\n"
        "    1         -  no           -         -      -            -  meet           left, right, meet\n"
        "Group 1 is published one by one: its tables are in several pipelines ('d' and 'e'), and each of them "
        "publishes by itself.\n"
    )


def test_where_there_are_no_cycles_or_groups(shell: Shell) -> None:
    shell.write("dags/p.yaml", "pipeline: p\nstream_tables: {t: {query: SELECT 1}}\n")
    assert shell.ok("sccs").out == "There are no cycles: 1 table, each by itself.\n"
    assert shell.ok("groups").out == "There are no diamonds: no two paths from one table meet again.\n"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_broken_file_does_not_hide_the_others(shell: Shell, command: tuple[str, ...]) -> None:
    shell.write("dags/good.yaml", GOOD)
    alone = shell.ok(*command).out
    shell.write("dags/slip.yaml", SLIP)
    outcome = shell(*command)
    assert outcome.code == 1
    assert outcome.out.startswith(alone)
    # A drawing goes to other programs: what is wrong is told beside it.
    told = outcome.err if command == ("graph",) else outcome.out.removeprefix(alone).lstrip("\n")
    assert told.startswith("Not planned:\n  dags/slip.yaml:4:5: stream table 'b': unknown key 'quary'.")
    shown = shell(*command, "--json")
    assert (shown.code, shown.err) == (1, "")
    assert [error["line"] for error in shown.json["errors"]] == [4]


@pytest.mark.parametrize("command", COMMANDS[1:5], ids=lambda command: command[0])
def test_where_everything_is_broken_only_that_is_told(shell: Shell, command: tuple[str, ...]) -> None:
    shell.write("dags/slip.yaml", SLIP)
    outcome = shell(*command)
    assert outcome.code == 1
    assert (outcome.out + outcome.err).startswith("Not planned:\n")


#: Those that look into the catalog too, if anybody has opened it.
LOOKING = ("explain", "groups", "sccs", "strata")


@pytest.mark.parametrize("looking", [False, True])
def test_neither_spark_nor_a_catalog_is_needed(shell: Shell, looking: bool) -> None:
    shell.write("dags/good.yaml", GOOD)
    forbidden = ("pyspark", "airflow") if looking else ("pyspark", "pyiceberg", "pyarrow", "sqlalchemy", "airflow")
    script = f"""
import sys
class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {forbidden!r}:
            raise AssertionError(name)
sys.meta_path.insert(0, Forbidden())
from airflow_trickle.cli import main
for command in {[one for one in COMMANDS if (one[0] in LOOKING) is looking]!r}:
    try:
        main(command)
    except SystemExit as end:
        assert not end.code, command
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (shell.folder.parent / "home").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_nothing_at_a_path(shell: Shell, command: tuple[str, ...]) -> None:
    outcome = shell(*command)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: There is no file or folder 'dags'. Name a pipeline's YAML file or its folder")
    assert shell(*command, "--json").json["error"]["type"] == "NoPipeline"


@pytest.mark.parametrize("arguments", [("explain",), ("decompose",), ("graph", "--format", "png"), ("sccs", "--every")])
def test_wrong_usage(shell: Shell, arguments: tuple[str, ...]) -> None:
    assert shell(*arguments).code == 2


def test_a_terminal_gets_colours_and_its_width(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    script = "from airflow_trickle.cli import main; import sys; main(sys.argv[1:])"
    above, below = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", script, "explain", "counted"],
        stdout=below,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "60"},
    ) as process:
        os.close(below)
        said = b""
        while True:
            try:
                said += os.read(above, 4096)
            except OSError:
                break
        assert process.wait() == 0
    os.close(above)
    assert b"\x1b[1mStream table counted" in said
    assert b"\x1b[33m" in said


def test_problems_of_several_lines_are_marked_once(shell: Shell) -> None:
    shell.write("dags/m.yaml", MUTUAL.replace("sources:", "mutual_recursion: suggest\nsources:"))
    shell.write("dags/slip.yaml", SLIP)
    lines = shell("validate").err.splitlines()
    assert [line[:27] for line in lines if line.startswith("error: ")] == [
        "error: dags/m.yaml:5:3: str",
        "error: dags/slip.yaml:4:5: ",
    ]
    assert lines[1:4] == ["  allow_circular: true", "  stream_tables:", "    reach__red:"]
    assert all(line.startswith("  ") for line in lines[1:-1])
