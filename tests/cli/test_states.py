"""What ``status``, ``groups``, ``history --strata``, ``explain`` and ``drop`` know from the catalog, without Spark."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle.api import Pipeline
from airflow_trickle.engine.idle import note_skipped_strata
from airflow_trickle.engine.pin import pin
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.snapshots import Version
from airflow_trickle.lakehouse.state import Frontier, write_history, write_status
from airflow_trickle.results import Mode, Status, TableResult
from airflow_trickle.runner import _passed_over
from tests.cli.conftest import Shell

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
QUERY = """\
WITH RECURSIVE
  red(n) AS (SELECT dst FROM edges WHERE src = 1 UNION SELECT e.dst FROM blue JOIN edges AS e ON blue.n = e.src),
  blue(n) AS (SELECT e.dst FROM red JOIN edges AS e ON red.n = e.src)
SELECT n FROM red
"""
ROUTES = f"""\
pipeline: routes
sources: [edges]
stream_tables:
  reach:
    query: |
{"".join(f"      {line}" + chr(10) for line in QUERY.splitlines())}\
  left: {{query: SELECT src AS n FROM edges WHERE NOT EXISTS (SELECT 1 FROM reach WHERE n = src)}}
"""
#: What each table has read, for who reads whom.
READS = {
    "reach__red": ("edges", "reach__blue"),
    "reach__blue": ("edges", "reach__red"),
    "reach": ("reach__red",),
    "left": ("edges", "reach"),
}


@pytest.fixture
def routes(shell: Shell) -> Shell:
    shell.write("dags/routes.yaml", ROUTES)
    shell.source("edges", [{"src": 1, "dst": 2}], pa.schema([("src", pa.int64()), ("dst", pa.int64())]))
    return shell


def tick(shell: Shell, tick_id: str = "routes/1", skipped: tuple[int, ...] = ()) -> None:
    """The parts of a tick that need no Spark."""
    plan = Pipeline.load(shell.folder / "dags/routes.yaml").plan
    with open_lakehouse("trickle") as lake:
        note_skipped_strata(lake, "routes", pin(lake, plan.pin, tick_id), skipped)


def publish(**more: dict[str, Any]) -> None:
    with open_lakehouse("trickle") as lake, lake.database.transaction() as connection:
        for name, inputs in READS.items():
            values = {
                "status": "ACTIVE",
                "mode": "DIFFERENTIAL",
                "epoch": 2,
                "frontier": Frontier({f"default.{one}": Version(1, 0) for one in inputs}, {}),
                "refreshed_at": NOON,
                "changed_at": NOON,
                **more.get(name, {}),
            }
            write_status(lake, connection, f"default.{name}", name=name, pipeline="routes", **values)


def columns(text: str) -> list[list[str]]:
    head, *rows = text.splitlines()
    return [head.split(), *(row.split() for row in rows)]


def test_status_tells_stratum_cycle_and_passes(routes: Shell) -> None:
    """Design 001 §9.2: test_stratum_assignment_visible_in_status"""
    settled = {"last_iterations": 3, "converged_at": NOON}
    publish(reach__red=settled, reach__blue=settled)
    # Before its next tick nothing is known of where a table stands.
    assert "stratum" not in routes.ok("status").out
    tick(routes)
    head, *rows = columns(routes.ok("status").out)
    assert head[3:6] == ["stratum", "scc", "epoch"]
    assert {row[0]: row[3:5] for row in rows} == {
        "default.left": ["1", "-"],
        "default.reach": ["0", "-"],
        "default.reach__blue": ["0", "1"],
        "default.reach__red": ["0", "1"],
    }
    told = {one["table"]: one for one in routes.ok("status", "--json").json}
    assert [told["reach__red"][key] for key in ("stratum", "scc_id", "last_fixpoint_iterations")] == [0, 1, 3]
    assert [told["left"][key] for key in ("stratum", "scc_id", "last_fixpoint_iterations")] == [1, None, None]
    assert [told["left"][key] for key in ("group", "group_epoch")] == [None, None]
    assert "group" not in head
    publish(left={"group_name": "group_left", "group_epoch": 7})
    (left,) = routes.ok("status", "left", "--json").json
    assert (left["group"], left["group_epoch"]) == ("group_left", 7)
    assert "group_left, epoch 7" in routes.ok("status").out


def test_python_tells_the_same(routes: Shell) -> None:
    pipeline = Pipeline.load(routes.folder / "dags/routes.yaml")
    never = pipeline.status()
    assert {name: (one.status, one.stratum, one.scc_id) for name, one in never.items()} == {
        "reach__blue": (Status.INITIALIZING, 0, 1),
        "reach__red": (Status.INITIALIZING, 0, 1),
        "reach": (Status.INITIALIZING, 0, None),
        "left": (Status.INITIALIZING, 1, None),
    }
    publish(
        reach__red={"last_iterations": 3, "converged_at": NOON}, left={"group_name": "group_left", "group_epoch": 7}
    )
    told = pipeline.status()
    assert (told["reach__red"].last_fixpoint_iterations, told["reach__red"].converged_at) == (3, NOON)
    assert (told["left"].group, told["left"].group_epoch, told["left"].epoch) == ("group_left", 7, 2)


def test_a_cycle_that_was_taken_out_of_the_yaml_is_gone_from_the_status_with_the_next_tick(routes: Shell) -> None:
    """Design 000 Part 8: Test 5: Drop member breaks cycle"""
    publish()
    tick(routes)
    routes.write(
        "dags/routes.yaml", ROUTES.replace("UNION SELECT e.dst FROM blue JOIN edges AS e ON blue.n = e.src", "")
    )
    tick(routes, "routes/2")
    told = {one["table"]: (one["stratum"], one["scc_id"]) for one in routes.ok("status", "--json").json}
    assert told == {"reach": (0, None), "left": (1, None), "reach__red": (None, None), "reach__blue": (None, None)}


def test_groups_tell_their_epoch_their_last_commit_and_how_their_members_are(routes: Shell) -> None:
    """Design 004 Step 6: groups with members, convergence and epoch"""
    shown = routes.ok("groups").out
    assert "\n\n" not in shown
    assert columns(shown)[0][5:8] == ["epoch", "last", "commit"]
    together = {"group_name": "group_left", "group_epoch": 4}
    before = {**together, "changed_at": NOON.replace(hour=9)}
    publish(reach__red=before, reach__blue=before, reach=before, left={**together, "error": "no\n such column"})
    (group,) = routes.ok("groups", "--json").json["groups"]
    (part,) = group["parts"]
    assert (part["epoch"], part["last_commit_at"]) == (4, "2026-03-01T12:00:00.000000+00:00")
    assert {one["table"]: (one["status"], one["error"]) for one in part["states"]} == {
        "reach__blue": ("ACTIVE", None),
        "reach__red": ("ACTIVE", None),
        "reach": ("ACTIVE", None),
        "left": ("ACTIVE", "no\n such column"),
    }
    text = routes.ok("groups").out
    first, second = text.split("\n\n")
    assert "4  2026-03-01 12:00:00" in first
    assert second.splitlines()[0].split()[:4] == ["group", "table", "status", "epoch"]
    assert second.splitlines()[-1].endswith("no such column")


def test_history_tells_which_tick_passed_over_which_strata(routes: Shell) -> None:
    assert routes.ok("history", "--strata").out.startswith("No tick has passed over a stratum yet")
    tick(routes, "routes/1", (1,))
    tick(routes, "routes/2", (0, 1))
    found = routes.ok("history", "--strata", "--json").json
    assert [(one["tick_id"], one["pipeline"], one["skipped_strata"]) for one in found] == [
        ("routes/2", "routes", [0, 1]),
        ("routes/1", "routes", [1]),
    ]
    head, *rows = routes.ok("history", "--strata", "-n", "1").out.splitlines()
    assert (" ".join(head.split()), rows[0].split()[2:]) == (
        "tick of pipeline strata passed over tick",
        ["routes", "0,", "1", "routes/2"],
    )
    assert routes.ok("history", "--strata", "-p", "other", "--json").json == []
    result = TableResult(table="left", status=Status.ACTIVE, mode=Mode.FULL, reason="first refresh")
    with open_lakehouse("trickle") as lake, lake.database.transaction() as connection:
        more = {"identifier": "default.left", "pipeline": "routes", "tick_id": "routes/1", "action": "INITIALIZE"}
        write_history(lake, connection, result, started_at=NOON, **more)
    assert [row["skipped_strata"] for row in routes.ok("history", "--json").json] == [[1]]
    assert {one["stratum"]: one["times_skipped"] for one in routes.ok("strata", "--json").json["strata"]} == {
        0: 1,
        1: 2,
    }


@pytest.mark.parametrize("more", [("left",), ("--iterations",)])
def test_strata_are_not_of_a_table(routes: Shell, more: tuple[str, ...]) -> None:
    outcome = routes("history", "--strata", *more)
    assert outcome.code == 2
    assert "Invalid value for --strata" in outcome.err


def test_a_stratum_is_passed_over_if_none_of_its_tables_had_anything_to_do(routes: Shell) -> None:
    """Design 001 §9.2: test_downstream_stratum_skipped_when_upstream_unchanged"""
    plan = Pipeline.load(routes.folder / "dags/routes.yaml").plan

    def passed(broken: tuple[str, ...] = (), **modes: Mode) -> tuple[int, ...]:
        results = {
            name: TableResult(table=name, status=Status.ACTIVE, mode=modes.get(name, Mode.NO_DATA), reason="")
            for name in READS
        }
        return _passed_over(plan, results, broken)

    units = {table.name: step.unit for step in plan.refreshes for table in step.tables}
    # They are one unit: a group, which stands in its highest stratum.
    assert set(units.values()) == {"group_left"}
    assert passed() == (1,)
    assert passed(left=Mode.SKIPPED) == (1,)
    assert passed(reach=Mode.DIFFERENTIAL) == ()
    assert passed(("group_left",)) == ()


def test_drop_takes_the_whole_mutual_group_and_says_so(routes: Shell) -> None:
    """Design 002 §7.4: dropping a mutual group"""
    publish()
    tick(routes)
    refused = routes("drop", "reach", "--yes")
    assert refused.err == ("error: Table default.reach is read by default.left. Drop these first, or use --force.\n")
    asked = routes("drop", "reach", "left", typed="n\n")
    assert asked.out.startswith(
        "Made from mutual recursion, and dropped with it (--alone leaves them): default.reach__red, "
        "default.reach__blue.\n"
        "Remove default.left, default.reach, default.reach__red, default.reach__blue with all data? [y/N]: "
    )
    done = routes.ok("drop", "left", "reach", "--yes", "--json").json
    assert done == {
        "dropped": ["default.left", "default.reach", "default.reach__red", "default.reach__blue"],
        "left": [],
    }
    assert routes.ok("status", "--json").json == []
    assert routes.ok("explain", "reach", "--json").json["mutual_group"] is None


def test_dropping_one_member_says_what_becomes_of_the_rest(routes: Shell) -> None:
    """Design 002 §7.4: dropping one member"""
    publish()
    tick(routes)
    refused = routes("drop", "reach__red", "--yes")
    assert refused.err == (
        "error: Table default.reach__red is read by default.reach, default.reach__blue. Drop these first, or use "
        "--force. It is the CTE red of the mutual recursion in the query of default.reach: drop that table to remove "
        "all of them (default.reach__red, default.reach__blue, default.reach).\n"
    )
    rest = (
        "default.reach__blue, default.reach of the mutual recursion of default.reach stay with their rows. As long as "
        "the YAML of pipeline 'routes' has default.reach, the next tick makes default.reach__red again and computes "
        "the cycle anew; without it nothing refreshes them any more, and `trickle drop default.reach__blue "
        "default.reach` removes them.\n"
    )
    assert rest in routes("drop", "reach__red", "--force", typed="n\n").out
    assert routes.ok("drop", "reach__red", "--force", "--yes").out == f"default.reach__red: dropped.\n{rest}"
    assert "default.reach__red: the CTE red, dropped" in routes.ok("explain", "reach").out
    alone = routes.ok("drop", "reach", "left", "--alone", "--yes").out
    assert "default.reach__blue of the mutual recursion of default.reach stay with their rows." in alone


def test_explain_puts_the_query_together_again_when_the_yaml_is_gone(routes: Shell) -> None:
    """Design 002 §7.5: reconstructing the original query for explain"""
    publish(left={}, reach={"status": "SUSPENDED"})
    tick(routes)
    planned = routes.ok("explain", "reach__red", "--json").json
    assert planned["mutual_group"]["query"] == planned["mutual_recursion"]["query"] == QUERY
    assert "\n    default.reach__red: the CTE red, ACTIVE\n" in routes.ok("explain", "reach").out
    routes.write(
        "dags/routes.yaml", "pipeline: routes\nsources: [edges]\nstream_tables: {left: {query: SELECT 1 AS n}}\n"
    )
    kept = routes.ok("explain", "reach__red", "--json").json["mutual_group"]
    assert (kept["query"], kept["members"]) == (QUERY, {"red": "default.reach__red", "blue": "default.reach__blue"})
    text = routes.ok("explain", "reach").out
    assert text.startswith("Mutual recursion of default.reach, which no pipeline in 'dags' has\n  pipeline   routes\n")
    assert "\n  default.reach: the query behind WITH, SUSPENDED\n" in text
    assert text.endswith("".join(f"  {line}\n" for line in QUERY.splitlines()))
    assert routes("explain", "nothing").code == 1
