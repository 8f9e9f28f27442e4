"""Runs pytest on a tree with a fault, layer by layer, until a test fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.faults.fault import Fault, FaultError
from tools.faults.forks import LIBRARIES, Forks
from tools.faults.layers import LAYERS, Layer
from tools.faults.record import Finder
from tools.faults.tree import planted

_PASSED, _SOME_FAILED, _INTERRUPTED, _NONE_CHOSEN = 0, 1, 2, 5
#: `tests/conftest.py` takes the Spark server of this folder instead of starting one of its own.
_SHARED_HOME = "TRICKLE_TEST_SPARK_HOME"
_STOP = "from airflow_trickle.spark import embedded; embedded.stop()"
_PROFILE = "TRICKLE_PROFILE"
_PLUGIN = "trickle_fault_plugin"
_PLUGINS = Path(__file__).with_name("plugin")
#: The file in which the plugin notes what failed.
_FAILED = "TRICKLE_FAULT_FAILED"


@dataclass(frozen=True)
class Run:
    """One run of pytest: ``test`` is the first that failed; neither that nor ``timed_out``: nothing failed."""

    test: str | None
    timed_out: bool
    #: How it was called, to do the same without the fault.
    call: tuple[tuple[str, ...], str, str, float, tuple[str, ...]] = ((), "", "", 0.0, ())

    @property
    def noticed(self) -> bool:
        """Whether a test failed, or did not end."""
        return self.timed_out or self.test is not None


@dataclass(frozen=True)
class Result:
    """What became of a fault.

    ``outcome`` is ``found``, ``timed out`` (which counts as found), ``not found``, ``unsure`` (the test that failed
    fails without the fault too) or ``error`` (pytest itself could not run).
    """

    fault: Fault
    outcome: str
    seconds: float
    layer: str = ""
    test: str = ""
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether the tests have noticed it."""
        return self.outcome in ("found", "timed out")


@dataclass
class Runner:
    """Tries faults in a copy of a tree.

    Attributes:
        copy: The copy.
        scratch: A folder for what the runs share, such as a Spark server.
        layers: Which layers are tried, the cheapest first.
        timeout: Seconds for each run of pytest; None: as the layer says.
    """

    copy: Path
    scratch: Path
    layers: Sequence[Layer] = LAYERS
    timeout: float | None = None
    #: By id of a fault: the test that found it before, which is tried first.
    earlier: Mapping[str, Finder] = field(default_factory=dict)
    #: Loaded once for all runs.
    libraries: Sequence[str] = LIBRARIES
    #: By test: whether it fails in the tree without a fault.
    _fails_anyway: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._spark_home.mkdir(parents=True, exist_ok=True)
        self._forks = Forks(self.copy, self.scratch / "output", self._environment(), self.libraries)

    @property
    def _spark_home(self) -> Path:
        return self.scratch / "spark"

    @property
    def _failed(self) -> Path:
        return self.scratch / "failed"

    def tried(self, fault: Fault) -> Result:
        """Plant a fault and run the tests of its part until one fails."""
        began = time.monotonic()
        try:
            return self._tried(fault, began)
        except FaultError as error:
            return self._result(fault, "error", began, None, "", [str(error)])

    def _tried(self, fault: Fault, began: float) -> Result:
        notes: list[str] = []
        if (found := self._again(fault, began)) is not None:
            return found
        paths = {name: [path for path in names if self._exists(path)] for name, names in _paths(fault).items()}
        missing = [path for path in _paths(fault)["test"] if not self._exists(path)]
        if missing:
            notes.append(f"skipped, since they do not exist: {', '.join(missing)}")
        ran: set[str] = set()
        for layer in self.layers:
            if not paths[layer.name]:
                continue
            with planted(fault, self.copy):
                run = self._in_layer(layer, paths[layer.name], ran)
            ran |= set(paths[layer.name])
            if run.noticed:
                return self._judged(fault, began, layer, run, notes)
        if not ran:
            notes.append("no test of it exists in this tree")
        return self._result(fault, "not found", began, None, "", notes)

    def _again(self, fault: Fault, began: float) -> Result | None:
        """Try the test that found a fault before; None if there is none, or it does not find the fault any more."""
        finder = self.earlier.get(fault.id)
        layer = next((one for one in self.layers if finder is not None and one.name == finder.layer), None)
        if finder is None or layer is None or not self._exists(finder.test):
            return None
        try:
            with planted(fault, self.copy):
                run = self.pytest([finder.test], layer.markers, layer.profile, self.timeout or layer.seconds)
        except FaultError:
            return None  # the test has another name by now
        result = self._judged(fault, began, layer, run, []) if run.noticed else None
        return result if result is not None and result.found else None

    def _judged(self, fault: Fault, began: float, layer: Layer, run: Run, notes: list[str]) -> Result:
        """What a run that noticed something says of the fault: whether it does so without the fault too."""
        if run.test is None:
            self.stop_spark()
            outcome = "timed out"
            if self.pytest(*run.call).timed_out:
                outcome = "unsure"
                notes.append(f"its tests take longer than {run.call[3]:.0f} s without the fault too: --timeout")
            return self._result(fault, outcome, began, layer, run.call[0][0], notes)
        outcome = "unsure" if self._fails_without(run.test, layer) else "found"
        if outcome == "unsure":
            notes.append("the test fails without the fault too")
        return self._result(fault, outcome, began, layer, run.test, notes)

    def _result(
        self, fault: Fault, outcome: str, began: float, layer: Layer | None, test: str, notes: list[str]
    ) -> Result:
        name = layer.name if layer is not None else ""
        return Result(fault, outcome, round(time.monotonic() - began, 1), name, test, tuple(notes))

    def _exists(self, path: str) -> bool:
        return (self.copy / path.partition("::")[0]).exists()

    def _in_layer(self, layer: Layer, paths: list[str], ran: set[str]) -> Run:
        """One path after the other, in their order, which pytest would not keep."""
        run = Run(None, timed_out=False)
        for number, path in enumerate(paths):
            # A path that a cheaper layer has tried needs only the tests that it left out.
            markers = layer.rest if path in ran else layer.markers
            run = self.pytest([path], markers, layer.profile, self.timeout or layer.seconds, but=paths[:number])
            if run.noticed:
                return run
        return run

    def _fails_without(self, test: str, layer: Layer) -> bool:
        if test not in self._fails_anyway:
            run = self.pytest([test], layer.markers, layer.profile, self.timeout or layer.seconds)
            self._fails_anyway[test] = run.noticed
        return self._fails_anyway[test]

    def pytest(self, paths: Sequence[str], markers: str, profile: str, seconds: float, but: Sequence[str] = ()) -> Run:
        """Run the tests of some paths, but for those of others, until the first failure.

        Raises:
            FaultError: pytest itself could not run.
        """
        call = (tuple(paths), markers, profile, seconds, tuple(but))
        options = ["-p", "no:cacheprovider", "-p", _PLUGIN, "-x", "-q", "-rfE", "-m", markers]
        options += [f"--{'deselect' if '::' in path else 'ignore'}={path}" for path in but]
        self._failed.unlink(missing_ok=True)
        ended = self._forks.run([*options, *paths], {_PROFILE: profile, _FAILED: str(self._failed)}, seconds)
        if ended is None:
            return Run(None, timed_out=True, call=call)
        code, output = ended
        if code in (_PASSED, _NONE_CHOSEN):
            return Run(None, timed_out=False, call=call)
        if code not in (_SOME_FAILED, _INTERRUPTED) or not self._failed.exists():
            raise FaultError(f"pytest ended with {code} on {' '.join(paths)}:\n{output[-2000:]}")
        first = self._failed.read_text(encoding="utf-8").partition("\0")[0]
        return Run(first, timed_out=False, call=call)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        path = os.pathsep.join((str(self.copy), str(_PLUGINS)))
        return {**kept, "PYTHONPATH": path, _SHARED_HOME: str(self._spark_home)}

    def check_import(self) -> None:
        """Refuse to go on if tests would import another package than the one of the copy.

        Raises:
            FaultError: they would.
        """
        script = "import airflow_trickle; print(airflow_trickle.__file__)"
        said = self._python(script)
        if said.returncode or not Path(said.stdout.strip()).is_relative_to(self.copy):
            raise FaultError(f"tests would not import the package of {self.copy}: {said.stdout}{said.stderr}")

    def close(self) -> None:
        """Stop what the runs share."""
        self._forks.close()
        self.stop_spark()

    def stop_spark(self) -> None:
        """Stop the Spark server that the runs share, if there is one."""
        if any(self._spark_home.iterdir()):
            self._python(_STOP)

    def _python(self, script: str) -> subprocess.CompletedProcess[str]:
        environment = {**self._environment(), "TRICKLE_SPARK_HOME": str(self._spark_home)}
        return subprocess.run(
            [sys.executable, "-c", script], cwd=self.copy, env=environment, capture_output=True, text=True, check=False
        )


def _paths(fault: Fault) -> dict[str, tuple[str, ...]]:
    """By layer: where its tests are."""
    return {"fast": fault.tests, "test": (*fault.tests, *fault.slow)}
