"""``trickle suspend``, ``resume``, and what the commands that look say of cycles; the state is written by hand."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import pytest
from rich.console import Console
from sqlalchemy import Connection

from airflow_trickle.api import Pipeline
from airflow_trickle.cli import running
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.iterations import write_iterations
from airflow_trickle.lakehouse.snapshots import Version
from airflow_trickle.lakehouse.state import CAPTURE, Frontier, write_history, write_status
from airflow_trickle.results import Iteration, Mode, Status, TableResult
from tests.cli.conftest import Shell

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
CYCLE = """\
pipeline: reach
allow_circular: true
max_fixpoint_iterations: 5
sources: [edges]
stream_tables:
  a: {query: SELECT dst FROM edges UNION SELECT dst FROM b}
  b: {query: SELECT e.dst FROM edges AS e JOIN a ON a.dst = e.src}
"""
TRACE = (
    Iteration(number=1, phase="retract", changes={"a": 2, "b": 0}, seconds=0.25),
    Iteration(number=2, phase="derive", changes={"a": 0, "b": 0}, seconds=0.125),
)
SETTLED = {
    "status": "ACTIVE",
    "frontier": Frontier({"default.edges": Version(1, 0)}, {}),
    "last_iterations": 2,
    "converged_at": NOON,
}
HALTED = {"status": "ERROR", "halted": "fingerprint", "error": "'a' and 'b' did not settle within 5 passes."}


@contextmanager
def writing() -> Iterator[tuple[Lakehouse, Connection]]:
    with open_lakehouse("trickle") as lake, lake.database.transaction() as connection:
        yield lake, connection


def state(*tables: str, **values: Any) -> None:
    with writing() as (lake, connection):
        for name in tables:
            write_status(lake, connection, f"default.{name}", name=name, pipeline="reach", **values)


def statuses(shell: Shell) -> dict[str, tuple[str, str | None]]:
    return {one["table"]: (one["status"], one["error"]) for one in shell.ok("status", "--json").json}


def test_a_suspended_table_is_resumed(shell: Shell) -> None:
    state("a", **SETTLED)
    state("b")
    assert shell.ok("suspend", "a", "default.b", "A").out == (
        "default.a: suspended, until: trickle resume a\ndefault.b: suspended, until: trickle resume b\n"
    )
    assert statuses(shell) == {"a": ("SUSPENDED", None), "b": ("SUSPENDED", None)}
    assert shell.ok("status").out.splitlines()[1].split()[2] == "SUSPENDED"
    assert shell.ok("resume", "a").out == "default.a: the next tick refreshes it again.\n"
    assert shell.ok("resume", "a").out == "default.a: it was neither suspended nor halted.\n"
    assert shell.ok("resume", "--all", "--json").json == {"resumed": ["default.b"]}
    assert shell.ok("resume", "--all").out == "No stream table is suspended or halted.\n"
    assert statuses(shell) == {"a": ("ACTIVE", None), "b": ("INITIALIZING", None)}
    assert shell.ok("suspend", "a", "--json").json == {"suspended": ["default.a"]}


def test_a_cycle_that_did_not_settle_is_resumed_as_a_whole(shell: Shell) -> None:
    state("a", **{**SETTLED, **HALTED})
    state("b", **HALTED)
    state("c", **{**HALTED, "halted": "another"})
    shell.ok("suspend", "b")
    assert shell.ok("resume", "a").out == "default.a: the next tick refreshes it again.\n"
    # Somebody suspended `b` by its name, and so it stays; `c` belongs to another cycle.
    assert statuses(shell) == {
        "a": ("ACTIVE", None),
        "b": ("SUSPENDED", HALTED["error"]),
        "c": ("ERROR", HALTED["error"]),
    }
    state("a", "b", **HALTED)
    assert shell.ok("resume", "b", "--json").json == {"resumed": ["default.a", "default.b"]}
    assert statuses(shell)["b"] == ("INITIALIZING", None)


def test_a_reset_ends_a_hold(shell: Shell) -> None:
    state("a", "b", **{**SETTLED, **HALTED})
    assert shell.ok("reset", "a").out == "default.a: the next tick computes it anew.\n"
    assert statuses(shell) == {"a": ("INITIALIZING", None), "b": ("ACTIVE", None)}
    shell.ok("suspend", "b")
    shell.ok("reset", "b")
    assert statuses(shell)["b"] == ("INITIALIZING", None)


def test_what_cannot_be_suspended_or_resumed(shell: Shell) -> None:
    state("a")
    state("m", mode=CAPTURE)
    assert shell("suspend", "m").err == (
        "error: Table default.m is the mirror of a captured source; only stream tables can be suspended. To hold up "
        "everything, pause the DAG.\n"
    )
    for command in ("suspend", "resume"):
        outcome = shell(command, "b")
        assert outcome.code == 1
        assert outcome.err.startswith("error: No stream table 'b' was refreshed yet in catalog 'trickle'.")
    assert shell("suspend").code == 2
    for arguments in ((), ("a", "--all")):
        outcome = shell("resume", *arguments)
        assert outcome.code == 2
        assert "name the stream tables to resume, or give --all for all." in outcome.err


def test_the_status_tells_of_passes_where_there_were_any(shell: Shell) -> None:
    state("c")
    assert "iterations" not in shell.ok("status").out
    state("a", **SETTLED)
    lines = [line.split() for line in shell.ok("status").out.splitlines()]
    place = lines[0].index("iterations")
    assert lines[0][place:] == ["iterations", "last", "error"]
    assert lines[1][-2:] == ["2", "-"]
    assert lines[2][-2:] == ["-", "-"]
    (a, c) = shell.ok("status", "--json").json
    assert (a["last_fixpoint_iterations"], a["converged_at"]) == (2, "2026-03-01T12:00:00.000000+00:00")
    assert (c["last_fixpoint_iterations"], c["converged_at"], c["behind"]) == (None, None, [])
    state("c", frontier=Frontier({}, {}, ("default.a",)))
    assert shell.ok("status", "c", "--json").json[0]["behind"] == ["default.a"]


def test_sccs_tell_how_a_cycle_stands(shell: Shell) -> None:
    shell.write("dags/reach.yaml", CYCLE)
    state("a", "b", **SETTLED)
    assert shell.ok("sccs").out == (
        "scc  cyclic  monotone  cap  iterations  converged            status  tables\n"
        "  1  yes     yes         5           2  2026-03-01 12:00:00  ACTIVE  a, b\n"
    )
    state("b", **HALTED)
    (told,) = shell.ok("sccs", "--json").json["sccs"]
    assert told == {
        "id": 1,
        "members": ["a", "b"],
        "cyclic": True,
        "monotone": True,
        "max_iterations": 5,
        "mutual_recursion": [],
        "status": "ERROR",
        "last_iterations": 2,
        "converged_at": "2026-03-01T12:00:00.000000+00:00",
    }


def test_sccs_of_a_catalog_that_does_not_answer(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("dags/reach.yaml", CYCLE)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", "http://127.0.0.1:1")
    outcome = shell.ok("sccs")
    assert "  1  yes     yes         5           -          -       -  a, b\n" in outcome.out
    assert "note: it is not known how cycles stand: Iceberg catalog 'trickle' is not an SQL catalog" in outcome.out
    assert len(shell.ok("sccs", "--json").json["catalog_errors"]) == 1


@pytest.fixture
def passes(shell: Shell) -> Shell:
    """The history of a cycle that was refreshed twice, and of another pipeline's."""
    result = TableResult(table="a", status=Status.ACTIVE, mode=Mode.DIFFERENTIAL, reason="edges changed", iterations=2)
    with writing() as (lake, connection):
        for tick, trace in (("first", TRACE[:1]), ("second", TRACE)):
            for name in ("a", "b"):
                write_history(
                    lake,
                    connection,
                    result.model_copy(update={"table": name}),
                    identifier=f"default.{name}",
                    pipeline="reach",
                    tick_id=tick,
                    action="REFRESH",
                    started_at=NOON,
                )
            write_iterations(lake, connection, pipeline="reach", tick_id=tick, unit="cycle_a", trace=trace)
        write_iterations(lake, connection, pipeline="q", tick_id="third", unit="cycle_a", trace=TRACE)
    state("a", "b", **SETTLED)
    return shell


def test_the_history_shows_what_each_pass_changed(passes: Shell) -> None:
    told = passes.ok("history", "b", "--iterations").out
    first, *rest = told.splitlines()
    assert first.startswith("cycle_a of pipeline reach, 20")
    assert first.endswith(", tick second")
    assert rest[:3] == [
        "iteration  phase    seconds  a  b",
        "        1  retract     0.25  2  0",
        "        2  derive      0.12  0  0",
    ]
    assert rest[3] == ""
    assert rest[4].endswith(", tick first")

    (newest,) = passes.ok("history", "a", "--iterations", "-n", "1", "--json").json
    assert newest.pop("at").startswith("20")
    assert newest == {
        "pipeline": "reach",
        "unit": "cycle_a",
        "tick_id": "second",
        "iterations": [one.model_dump() for one in TRACE],
    }
    ticks = [one["tick_id"] for one in passes.ok("history", "--iterations", "--json").json]
    assert ticks == ["third", "second", "first"]
    assert [one["tick_id"] for one in passes.ok("history", "--iterations", "-p", "reach", "--json").json] == [
        "second",
        "first",
    ]
    # A table that was dropped has a history too.
    passes.ok("drop", "b", "--yes", "--force")
    assert len(passes.ok("history", "b", "--iterations", "--json").json) == 2


def test_a_history_without_passes(shell: Shell) -> None:
    assert shell.ok("history", "--iterations").out == (
        "No refresh was made in passes yet: only cycles and recursive queries are.\n"
    )
    assert shell.ok("history", "--iterations", "--json").json == []


def test_a_terminal_shows_the_pass_that_was_made_last(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline.load(shell.write("dags/reach.yaml", CYCLE))
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(running, "err", terminal)
    with running._progress(pipeline, quiet=False) as listeners:
        listeners["starting"]("a")
        listeners["progress"]("cycle_a", TRACE[0])
        # It is drawn some times a second.
        time.sleep(0.3)
    assert "reach: cycle_a, pass 1: 2 rows changed" in terminal.file.getvalue()  # type: ignore[attr-defined]
