"""The faults of mutation testing can all be planted, and the tool tells found ones from others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tools.faults.__main__ import main
from tools.faults.fault import Fault, FaultError, stale
from tools.faults.layers import FAST, TEST
from tools.faults.record import Finder, read_record, write_record
from tools.faults.rooms import FAULTS
from tools.faults.running import Run, Runner
from tools.faults.tree import copied, planted

ROOT = Path(__file__).resolve().parent.parent.parent
_HALF = "def half(number: int) -> int:\n    return number // 2\n"
_TESTS = """
import pytest
from toy import half

def test_half_of_four():
    assert half(4) == 2

@pytest.mark.spark
def test_half_of_five():
    assert half(5) == 2
"""


def test_every_anchor_occurs_once_and_every_fault_compiles() -> None:
    assert stale(FAULTS, ROOT) == {}


def test_every_room_of_the_package_has_a_fault() -> None:
    rooms = {path.parent.name for path in (ROOT / "airflow_trickle").glob("*/__init__.py")}
    planted_in = {Path(fault.file).parts[1] for fault in FAULTS}

    assert len(FAULTS) >= 45
    assert rooms - planted_in == set()


def test_ids_are_kebab_case_and_different() -> None:
    ids = [fault.id for fault in FAULTS]

    assert len(set(ids)) == len(ids)
    assert [one for one in ids if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one)] == []


def test_every_fault_names_a_test_that_exists() -> None:
    names = {fault.id: [path.partition("::")[0] for path in (*fault.tests, *fault.slow)] for fault in FAULTS}

    assert [one for one, paths in names.items() if not any((ROOT / path).exists() for path in paths)] == []


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one function and two tests, one of which belongs to the slower layer."""
    # Loading the plugins of pytest that are installed would be most of the time.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    tree = tmp_path / "toy"
    tree.mkdir()
    (tree / "toy.py").write_text(_HALF, encoding="utf-8")
    (tree / "test_toy.py").write_text(_TESTS, encoding="utf-8")
    return tree


def _fault(new: str, old: str = "number // 2", tests: tuple[str, ...] = ("test_toy.py",)) -> Fault:
    return Fault("toy-fault", "half is not half", "toy", "toy.py", old, new, tests)


@pytest.fixture
def runner(toy: Path, tmp_path: Path) -> Iterator[Runner]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    made = Runner(copied(toy, scratch), scratch, timeout=60.0, libraries=("pytest",))
    yield made
    made.close()


def test_a_fault_that_a_cheap_test_notices_is_found_in_the_fast_layer(runner: Runner) -> None:
    result = runner.tried(_fault("number // 3"))

    assert (result.outcome, result.layer, result.test) == ("found", FAST.name, "test_toy.py::test_half_of_four")


def test_a_fault_that_only_a_slow_test_notices_is_found_in_the_slow_layer(runner: Runner) -> None:
    result = runner.tried(_fault("-(-number // 2)", tests=("test_toy.py", "missing.py")))

    assert (result.outcome, result.layer, result.test) == ("found", TEST.name, "test_toy.py::test_half_of_five")
    assert result.notes == ("skipped, since they do not exist: missing.py",)


def test_a_fault_that_no_test_notices_is_told(runner: Runner) -> None:
    result = runner.tried(_fault("number // 2 if number < 9 else 0"))

    assert (result.outcome, result.found) == ("not found", False)


def test_a_run_that_never_ends_is_ended_and_the_next_one_goes_on(runner: Runner) -> None:
    slow = "import time\n\ndef test_slow():\n    time.sleep(600)\n"
    (runner.copy / "test_slow.py").write_text(slow, encoding="utf-8")

    assert runner.pytest(["test_slow.py"], FAST.markers, FAST.profile, 1.0).timed_out
    assert not runner.pytest(["test_toy.py"], FAST.markers, FAST.profile, 60.0).noticed


def test_every_run_loads_the_code_anew_and_the_libraries_once(runner: Runner) -> None:
    outcomes = [runner.tried(_fault(new)).outcome for new in ("number // 3", "number // 2 + 0", "number // 4")]

    assert outcomes == ["found", "not found", "found"]


def test_the_profile_of_a_layer_is_that_of_its_runs(runner: Runner) -> None:
    said = f"import os\n\ndef test_profile():\n    assert os.environ['TRICKLE_PROFILE'] == '{FAST.profile}'\n"
    (runner.copy / "test_profile.py").write_text(said, encoding="utf-8")

    assert not runner.pytest(["test_profile.py"], "", FAST.profile, 60.0).noticed
    assert runner.pytest(["test_profile.py"], "", TEST.profile, 60.0).noticed


def test_a_test_is_told_by_its_whole_id(runner: Runner) -> None:
    odd = "import pytest\n\n@pytest.mark.parametrize('x', ['a - b::c [d]'])\ndef test_odd(x):\n    assert False\n"
    (runner.copy / "test_odd.py").write_text(odd, encoding="utf-8")

    run = runner.pytest(["test_odd.py"], "", FAST.profile, 60.0)
    assert run.test == "test_odd.py::test_odd[a - b::c [d]]"
    assert runner.pytest([run.test], "", FAST.profile, 60.0).test == run.test


@pytest.mark.parametrize("finder", ["test_toy.py::test_half_of_five", "test_toy.py::test_of_another_name"])
def test_the_test_that_found_a_fault_before_is_tried_first(runner: Runner, finder: str) -> None:
    runner.earlier = {"toy-fault": Finder(TEST.name, finder)}
    result = runner.tried(_fault("number // 2 if number == 4 else 0"))

    assert (result.outcome, result.layer, result.test) == ("found", TEST.name, "test_toy.py::test_half_of_five")


def test_what_found_a_fault_is_written_down_beside_what_is_known_of_others(tmp_path: Path) -> None:
    record = tmp_path / "found.json"
    assert read_record(record) == {}
    first, second, gone = (Finder("fast", f"test_toy.py::test_{name}") for name in ("one", "two", "gone"))
    write_record({"b": first, "gone": gone}, ["b", "gone"], record)
    write_record({"a": second}, ["a", "b", "never-found"], record)
    assert read_record(record) == {"a": second, "b": first}
    assert [line.strip()[:3] for line in record.read_text(encoding="utf-8").splitlines()[1:-1]] == ['"a"', '"b"']


def test_the_record_tells_of_known_faults_and_tests_that_exist() -> None:
    found = read_record()

    assert found.keys() <= {fault.id for fault in FAULTS}
    assert [one for one in found.values() if not (ROOT / one.test.partition("::")[0]).exists()] == []


@pytest.mark.parametrize(("anyway", "outcome"), [(False, "timed out"), (True, "unsure")])
def test_a_timeout_counts_as_found_unless_the_tests_take_too_long_anyway(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, anyway: bool, outcome: str
) -> None:
    def run(paths: Sequence[str], markers: str, profile: str, seconds: float, but: Sequence[str] = ()) -> Run:
        faulty = (runner.copy / "toy.py").read_text(encoding="utf-8") != _HALF
        return Run(None, timed_out=faulty or anyway, call=(tuple(paths), markers, profile, seconds, tuple(but)))

    monkeypatch.setattr(runner, "pytest", run)
    result = runner.tried(_fault("half(number)"))

    assert (result.outcome, result.found, result.layer) == (outcome, not anyway, FAST.name)


def test_a_test_that_fails_without_the_fault_too_finds_nothing(runner: Runner) -> None:
    (runner.copy / "test_toy.py").write_text("def test_red():\n    assert False\n", encoding="utf-8")
    result = runner.tried(_fault("number // 3"))

    assert (result.outcome, result.found) == ("unsure", False)


def test_a_fault_is_gone_after_it_was_tried(toy: Path) -> None:
    with planted(_fault("number // 3"), toy):
        assert "number // 3" in (toy / "toy.py").read_text(encoding="utf-8")
    assert (toy / "toy.py").read_text(encoding="utf-8") == _HALF


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (_fault("0", old="nowhere"), "occurs 0 times"),
        (_fault("count", old="number"), "occurs 2 times"),
        (_fault("number //"), "does not compile"),
        (_fault("number // 2"), "changes nothing"),
    ],
)
def test_a_fault_that_cannot_be_planted_is_an_error(fault: Fault, why: str) -> None:
    with pytest.raises(FaultError, match=why):
        fault.planted(_HALF)


def test_a_stale_anchor_is_named_before_anything_runs(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tree", str(toy)], (_fault("0", old="nowhere"),)) == 2
    assert "toy-fault: its anchor occurs 0 times in toy.py" in capsys.readouterr().out


def test_the_command_tells_the_result_as_json_and_by_its_exit_code(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (toy / "airflow_trickle.py").write_text("", encoding="utf-8")
    faults = (_fault("number // 2 if number < 9 else 0"),)
    told = tmp_path / "told.json"

    assert main(["--tree", str(toy), "--layer", "fast", "--json", str(told)], faults) == 1
    (one,) = json.loads(told.read_text(encoding="utf-8"))["faults"]
    assert (one["id"], one["outcome"]) == ("toy-fault", "not found")
    assert "0 of 1 faults found." in capsys.readouterr().out


def test_the_command_lists_faults_and_refuses_unknown_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--only", "epoch-stays"]) == 0
    assert "epoch-stays" in capsys.readouterr().out
    assert main(["--list", "--only", "no-such-fault"]) == 2
    assert "There is no fault no-such-fault" in capsys.readouterr().out
