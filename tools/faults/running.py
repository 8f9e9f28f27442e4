"""Runs pytest on a tree with a fault, layer by layer, until a test fails."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.faults.fault import Fault, FaultError
from tools.faults.layers import LAYERS, Layer
from tools.faults.tree import planted

_FAILED = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S.*?)(?: - .*)?$", re.MULTILINE)
_PASSED, _SOME_FAILED, _INTERRUPTED, _NONE_CHOSEN = 0, 1, 2, 5
#: `tests/conftest.py` takes the Spark server of this folder instead of starting one of its own.
_SHARED_HOME = "TRICKLE_TEST_SPARK_HOME"
_STOP = "from airflow_trickle.spark import embedded; embedded.stop()"
#: An older tree may not know the markers of the layers, and pytest refuses expressions with unknown ones.
_PLUGIN = "trickle_fault_markers"
_MARKERS = """
def pytest_configure(config):
    for name in ("spark", "airflow", "server", "e2e", "soak"):
        config.addinivalue_line("markers", f"{name}: a layer of the tests")
"""


@dataclass(frozen=True)
class Run:
    """One run of pytest: ``test`` is the first that failed; neither that nor ``timed_out``: nothing failed."""

    test: str | None
    timed_out: bool
    #: How it was called, to do the same without the fault.
    call: tuple[tuple[str, ...], str, float, tuple[str, ...]] = ((), "", 0.0, ())


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
        scratch: A folder for what the runs share: a Spark server, a plugin of pytest.
        layers: Which layers are tried, the cheapest first.
        timeout: Seconds for each run of pytest; None: as the layer says.
    """

    copy: Path
    scratch: Path
    layers: Sequence[Layer] = LAYERS
    timeout: float | None = None
    #: By test: whether it fails in the tree without a fault.
    _fails_anyway: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._spark_home.mkdir(parents=True, exist_ok=True)
        self._plugins.mkdir(parents=True, exist_ok=True)
        (self._plugins / f"{_PLUGIN}.py").write_text(_MARKERS, encoding="utf-8")

    @property
    def _spark_home(self) -> Path:
        return self.scratch / "spark"

    @property
    def _plugins(self) -> Path:
        return self.scratch / "plugins"

    def tried(self, fault: Fault) -> Result:
        """Plant a fault and run the tests of its part until one fails."""
        began = time.monotonic()
        try:
            return self._tried(fault, began)
        except FaultError as error:
            return self._result(fault, "error", began, None, "", [str(error)])

    def _tried(self, fault: Fault, began: float) -> Result:
        notes: list[str] = []
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
            if run.timed_out:
                self.stop_spark()
                outcome = "timed out"
                if self.pytest(*run.call).timed_out:
                    outcome = "unsure"
                    notes.append(f"its tests take longer than {run.call[2]:.0f} s without the fault too: --timeout")
                return self._result(fault, outcome, began, layer, run.call[0][0], notes)
            if run.test is not None:
                outcome = "unsure" if self._fails_without(run.test, layer) else "found"
                if outcome == "unsure":
                    notes.append("the test fails without the fault too")
                return self._result(fault, outcome, began, layer, run.test, notes)
        if not ran:
            notes.append("no test of it exists in this tree")
        return self._result(fault, "not found", began, None, "", notes)

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
            run = self.pytest([path], markers, self.timeout or layer.seconds, but=paths[:number])
            if run.timed_out or run.test is not None:
                return run
        return run

    def _fails_without(self, test: str, layer: Layer) -> bool:
        if test not in self._fails_anyway:
            seconds = self.timeout or layer.seconds
            try:
                run = self.pytest([test], layer.markers, seconds)
            except FaultError:
                # What pytest tells of a test with odd parameters need not be its whole id.
                run = self.pytest([test.partition("[")[0]], layer.markers, seconds)
            self._fails_anyway[test] = run.timed_out or run.test is not None
        return self._fails_anyway[test]

    def pytest(self, paths: Sequence[str], markers: str, seconds: float, but: Sequence[str] = ()) -> Run:
        """Run the tests of some paths, but for those of others, until the first failure.

        Raises:
            FaultError: pytest itself could not run.
        """
        call = (tuple(paths), markers, seconds, tuple(but))
        options = ["-p", "no:cacheprovider", "-p", _PLUGIN, "-x", "-q", "-rfE", "-m", markers]
        options += [f"--{'deselect' if '::' in path else 'ignore'}={path}" for path in but]
        command = [sys.executable, "-m", "pytest", *options, *paths]
        # A session of its own, so that whatever the tests have started can be ended with them.
        process = subprocess.Popen(
            command,
            cwd=self.copy,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            return Run(None, timed_out=True, call=call)
        except BaseException:
            _end(process)
            raise
        if process.returncode in (_PASSED, _NONE_CHOSEN):
            return Run(None, timed_out=False, call=call)
        failed = _FAILED.search(output)
        if process.returncode not in (_SOME_FAILED, _INTERRUPTED) or failed is None:
            raise FaultError(f"pytest ended with {process.returncode} on {' '.join(paths)}:\n{output[-2000:]}")
        return Run(failed["test"], timed_out=False, call=call)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        path = os.pathsep.join((str(self.copy), str(self._plugins)))
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


def _end(process: subprocess.Popen[str]) -> None:
    """End a run with all that is in its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
