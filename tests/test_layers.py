"""The fast layer starts no JVM, no PostgreSQL and no Airflow; budgets and reports are those of the run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import budgets, databases, reporting
from tests.layers import OUTSIDE_FAST, NotInItsLayer, started_by

ROOT = Path(__file__).parents[1]

#: Run by a pytest of its own: one that passes, two that fail.
_THREE_TESTS = """
from hypothesis import given, strategies as st
from tests import budgets

def test_good():
    pass

@given(st.integers())
def test_bad(number):
    assert number < 100

def test_a_round_fails():
    for seed in budgets.soak_seeds(600):
        assert seed < budgets.SEED + 3
"""


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """Programs that do nothing, outside of the folders in which tests put their stand-ins."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("java", "spark-submit", "airflow", "postgres", "initdb"):
            write_program(Path(folder, name))
        yield Path(folder)


def write_program(path: Path) -> None:
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o700)


@pytest.mark.parametrize("name", ["java", "spark-submit", "airflow", "postgres", "initdb"])
def test_a_test_of_the_fast_layer_cannot_start_a_server(
    programs: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for command in ([name, "-x"], [programs / name], f"{name} -x"):
        with pytest.raises(NotInItsLayer, match="but is not marked"):
            subprocess.Popen(command, shell=isinstance(command, str))


@pytest.mark.parametrize("module", ["airflow_trickle.spark.supervisor", "airflow"])
def test_nor_can_it_start_one_as_a_module(module: str) -> None:
    with pytest.raises(NotInItsLayer, match="but is not marked"):
        subprocess.Popen([sys.executable, "-m", module, "version"])


def test_a_stand_in_of_its_own_may_be_started(tmp_path: Path) -> None:
    write_program(tmp_path / "java")
    assert subprocess.run([tmp_path / "java"], check=False).returncode == 0


def a_database() -> str:
    """Called indirectly, so that the test gets no marker for it."""
    return databases.new_database()


def test_a_test_of_the_fast_layer_gets_no_database_even_if_an_earlier_test_has_started_the_server() -> None:
    with pytest.raises(NotInItsLayer, match="starts PostgreSQL, but is not marked e2e or server"):
        a_database()


@pytest.mark.parametrize("command", [[sys.executable, "-c", "0"], ["git", "log"], [], [sys.executable, "-m", "mypy"]])
def test_other_commands_may_be_started(command: list[str]) -> None:
    assert started_by(command) is None


@pytest.mark.spark
def test_a_test_marked_spark_may_start_java(programs: Path) -> None:
    assert subprocess.run([programs / "java"], check=False).returncode == 0


def test_make_fast_leaves_out_every_marker_of_the_other_layers() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"\nOUTSIDE_FAST := {' or '.join(OUTSIDE_FAST)}\n" in makefile
    assert re.search(r"^fast:.*\n(\t.*\\\n)*\t+-m \"not \(\$\(OUTSIDE_FAST\)\)\"", makefile, re.MULTILINE)


def run_of_its_own(folder: Path, **env: str) -> str:
    """What pytest prints of two failing tests and a good one, under the suite's own plugins."""
    (folder / "test_three.py").write_text(_THREE_TESTS, encoding="utf-8")
    (folder / "conftest.py").write_text("from tests.conftest import pytest_configure\n", encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRICKLE_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)],
        env={**kept, "PYTHONPATH": str(ROOT), **env},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_a_failed_run_prints_the_slowest_tests_the_seed_and_how_to_repeat_it(tmp_path: Path) -> None:
    printed = run_of_its_own(tmp_path, TRICKLE_PROFILE="soak", TRICKLE_SEED="77")

    assert "budgets: profile soak, seed 77\n" in printed
    assert "slowest 3 tests" in printed
    assert re.search(r"\d\.\d\d s  test_three.py::test_good\n", printed)
    assert "TRICKLE_PROFILE=soak TRICKLE_SEED=77 .venv/bin/python -m pytest test_three.py::test_bad\n" in printed
    # From the round that failed.
    repeat = "TRICKLE_PROFILE=soak TRICKLE_SEED=80 .venv/bin/python -m pytest test_three.py::test_a_round_fails\n"
    assert repeat in printed


def test_a_soak_draws_a_seed_that_its_workers_inherit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICKLE_SEED", "")
    assert budgets._seed(budgets.PROFILES["ci"]) == 0
    drawn = budgets._seed(budgets.PROFILES["soak"])
    assert drawn > 0
    assert os.environ["TRICKLE_SEED"] == str(drawn)


def test_the_profile_must_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICKLE_PROFILE", "quick")
    with pytest.raises(ValueError, match="TRICKLE_PROFILE is 'quick', but must be one of fast, ci, soak"):
        budgets._profile()


def test_weights_are_relative_to_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, expected in (("fast", 38), ("ci", 75), ("soak", 3000)):
        monkeypatch.setattr(budgets, "PROFILE", budgets.PROFILES[name])
        assert budgets.examples(1.5) == expected
        assert budgets.budget(1.5).max_examples == expected


def test_a_seed_gives_other_random_numbers_but_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "SEED", 0)
    usual = budgets.chance(1).random()
    monkeypatch.setattr(budgets, "SEED", 5)
    other = budgets.chance(1).random()
    assert other != usual
    assert budgets.chance(1).random() == other


def test_a_long_list_of_failed_tests_is_cut() -> None:
    command = reporting.repeat_command([f"t.py::test[{number} x]" for number in range(12)], 3)
    assert "'t.py::test[9 x]'  # and 2 more" in command
    assert "10 x" not in command
