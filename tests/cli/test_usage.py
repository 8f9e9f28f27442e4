"""The command itself: help, wrong usage, exit codes, errors as one message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from airflow_trickle import __version__
from airflow_trickle.cli import app
from tests.cli.conftest import Shell

COMMANDS = [
    "init",
    "validate",
    "plan",
    "run",
    "verify",
    "status",
    "history",
    "show",
    "suspend",
    "resume",
    "reset",
    "drop",
    "take-over",
    "restate",
    "maintain",
]
COMMANDS += ["explain", "graph", "strata", "sccs", "groups", "decompose"]


def trickle(folder: Path, *arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as the console script starts it."""
    script = f"{code}\nimport sys\nfrom airflow_trickle.cli import main\nmain(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        env={**os.environ, "TRICKLE_HOME": str(folder / "home"), "AIRFLOW_HOME": str(folder / "airflow")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_command(shell: Shell) -> None:
    told = shell.ok("--help").out
    assert told == shell.ok("-h").out
    for name in [*COMMANDS, "spark"]:
        assert f"\n  {name} " in told
    # Whole sentences: nothing is cut to fit into 80 columns.
    assert "..." not in told.split("Commands:")[1]


def test_help_needs_no_heavy_library(tmp_path: Path) -> None:
    forbidden = ("pyspark", "pyiceberg", "pyarrow", "sqlalchemy", "sqlglot", "networkx", "airflow")
    guard = f"""
import sys
class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {forbidden!r}:
            raise AssertionError(name)
sys.meta_path.insert(0, Forbidden())
"""
    done = trickle(tmp_path, "--help", code=guard)
    assert (done.returncode, done.stderr) == (0, "")
    assert trickle(tmp_path, "run", "--help", code=guard).returncode == 0


def test_version(shell: Shell) -> None:
    assert shell.ok("--version").out == f"trickle {__version__}\n"


def test_every_command_has_json(shell: Shell) -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert sorted(commands) == sorted([*COMMANDS, "spark"])
    for command in [*(commands[name] for name in COMMANDS), *commands["spark"].commands.values()]:
        assert "--json" in [option for parameter in command.params for option in parameter.opts], command.name


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("bogus",),
        ("run", "--bogus"),
        ("run", "--as-of", "yesterday"),
        ("run", "--spark", "yarn"),
        ("verify", "--spark", "yarn"),
        ("verify", "--limit", "-1"),
        ("history", "--limit", "0"),
        ("history", "--limit", "many"),
        ("show",),
        ("show", "x", "--as-of", "soon"),
        ("reset",),
        ("drop",),
        ("drop", "x", "--json"),
        ("restate",),
        ("restate", "x"),
        ("restate", "x", "--to", "soon"),
        ("restate", "x", "--to", "2026-01-01", "--json"),
        ("spark",),
        ("spark", "bogus"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2(shell: Shell, arguments: tuple[str, ...]) -> None:
    outcome = shell(*arguments)
    assert outcome.code == 2
    assert "Usage: trickle" in outcome.out + outcome.err
    assert "Traceback" not in outcome.err
    assert not (shell.folder.parent / "home").exists()


def test_messages_of_wrong_usage(shell: Shell) -> None:
    assert shell("run", "--as-of", "yesterday").err == (
        "Usage: trickle run [OPTIONS] [PATH]\n"
        "Try 'trickle run -h' for help.\n\n"
        "Error: Invalid value for --as-of: 'yesterday' is not a time. Write it like 2026-01-31 or "
        "2026-01-31T12:00:00+01:00.\n"
    )
    assert shell("run", "--spark", "yarn").err.endswith(
        "Error: Invalid value for --spark: Spark at 'yarn' needs spark-submit, which only the tasks of Airflow do. Use "
        "sc://host:port for a Spark Connect server, or 'embedded' for a Spark of our own; or submit "
        "spark_jobs/tick.py yourself.\n"
    )
    assert shell("drop", "x", "--json").err.endswith(
        "Error: Invalid value for --json: with --json nothing is asked: add --yes to confirm.\n"
    )


@pytest.mark.slow
def test_a_real_process_prints_only_json(tmp_path: Path) -> None:
    good = trickle(tmp_path, "status", "--json")
    assert (good.returncode, json.loads(good.stdout), good.stderr) == (0, [], "")
    bad = trickle(tmp_path, "show", "nothing", "--json")
    assert (bad.returncode, bad.stderr) == (1, "")
    assert json.loads(bad.stdout) == {
        "error": {"type": "UnknownTable", "message": "There is no table 'nothing' in catalog 'trickle'."}
    }


def test_a_defect_is_one_message_too(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_trickle.lakehouse import state

    def fail(*_arguments: object) -> None:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(state, "read_status", fail)
    expected = (
        "Unexpected ZeroDivisionError: division by zero (this is a defect of airflow-trickle; with "
        "TRICKLE_TRACEBACK=1 in the environment the command shows where it happened)"
    )
    outcome = shell("status")
    assert (outcome.code, outcome.out, outcome.err) == (1, "", f"error: {expected}\n")
    assert shell("status", "--json").json == {"error": {"type": "TrickleError", "message": expected}}
    monkeypatch.setenv("TRICKLE_TRACEBACK", "1")
    from airflow_trickle.cli import main

    with pytest.raises(ZeroDivisionError):
        main(["status"])


def test_an_interrupt_is_exit_code_130(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_trickle.lakehouse import state

    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(state, "read_status", interrupt)
    assert shell("status").code == 130


@pytest.mark.parametrize("command", [("status",), ("history",), ("show", "x"), ("reset", "x"), ("drop", "x", "-y")])
def test_a_catalog_that_does_not_answer(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", "postgresql+psycopg2://me:secret@127.0.0.1:1/lake")
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", "file:///nowhere")
    outcome = shell(*command)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "error: Iceberg catalog 'trickle' at postgresql+psycopg2://me:***@127.0.0.1:1/lake did not answer: "
        'connection to server at "127.0.0.1", port 1 failed: Connection refused. Check that the database is '
        "running and that the address, user and rights are right, then try again.\n"
    )


def test_a_wrong_setting(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__TRICKLE__ENABLE_STRATUM_SKIP", "perhaps")
    assert shell("status").err == (
        "error: the environment variable AIRFLOW__TRICKLE__ENABLE_STRATUM_SKIP is 'perhaps', but must be "
        "true or false.\n"
    )


def test_another_catalog_by_name(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__OTHER__URI", f"sqlite:///{tmp_path}/other.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__OTHER__WAREHOUSE", f"file://{tmp_path}/other")
    assert shell("show", "x", "--catalog", "other").err == "error: There is no table 'x' in catalog 'other'.\n"
    assert (tmp_path / "other.db").exists()


def test_the_reader_of_a_pipe_may_go_away(shell: Shell) -> None:
    shell.write("p.yaml", "pipeline: p\nstream_tables:\n  a: {query: SELECT 1 AS x}\n")
    script = f"{sys.executable} -c 'from airflow_trickle.cli import main; main()' plan . | true"
    done = subprocess.run(["bash", "-c", script], cwd=shell.folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
