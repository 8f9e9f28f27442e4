"""Fixtures of the whole test suite: one embedded Spark server for a test run, shared by all workers."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_trickle.tuning import tuned as tuned_block
from tests import budgets, layers, reporting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HOME = "TRICKLE_SPARK_HOME"
#: A folder for the server of several test runs one after the other; whoever sets it stops the server.
_SHARED_HOME = "TRICKLE_TEST_SPARK_HOME"
#: Files whose tests share the Airflow of `tests/e2e/conftest.py`.
_SHARING = ("tests/e2e/test_orchestration.py", "tests/e2e/test_airflow.py", "tests/e2e/test_cycles.py")
#: What takes longest begins first, so that at the end no worker waits for the other.
_LONG = (
    *_SHARING,
    "tests/tpch/test_queries.py",
    "tests/operators/test_cluster.py",
    "tests/tpch/",
    "tests/engine/fixpoint/",
    "tests/engine/",
)

budgets.register()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is imported or collected becomes garbage: to look for it there would take much of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    for plugin in (layers, reporting):
        config.pluginmanager.register(plugin)
    if budgets.SEED and config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(budgets.SEED)
    if hasattr(config, "workerinput"):
        return  # an xdist worker: it has inherited the folder from the controller
    # Whoever starts the embedded Spark in this run, in whatever home, gets the one of this folder.
    os.environ[_HOME] = os.environ.get(_SHARED_HOME) or tempfile.mkdtemp(prefix="trickle-test-spark-")
    if not os.environ.get("TRICKLE_TEST_COMPILED"):
        # Thousands of queries run once each, over a handful of rows: to generate code for them would be most of their
        # time. Whoever says nothing of partitions would get 200.
        Path(os.environ[_HOME], "spark-defaults.conf").write_text(
            "spark.sql.codegen.wholeStage false\n"
            "spark.sql.codegen.factoryMode NO_CODEGEN\n"
            "spark.sql.shuffle.partitions 2\n"
            # As a refresh of so few rows has it.
            "spark.sql.adaptive.enabled false\n"
            # Room for what a run leaves behind: with 3 GB a tenth of the server's time was garbage collection.
            "spark.driver.memory 6g\n"
            # Most code runs a few times only: the optimizing compiler took a fifth of the server's time.
            "spark.driver.extraJavaOptions -Xmn3g -XX:TieredStopAtLevel=1\n"
            # Nobody looks at the pages of a test run; to keep what they would show takes its time.
            "spark.ui.retainedJobs 20\n"
            "spark.ui.retainedStages 20\n"
            "spark.ui.retainedTasks 200\n"
            "spark.sql.ui.retainedExecutions 10\n",
            encoding="utf-8",
        )
    # Of the small Java that only says how to start Spark, dozens of times in a run.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    # For a test run that was killed: nobody will stop its server.
    os.environ.setdefault("TRICKLE_SPARK_IDLE_MINUTES", "10")


def spark_defaults() -> str:
    """The settings of the run's Spark server, for those who start one of their own."""
    file = Path(os.environ[_HOME], "spark-defaults.conf")
    return file.read_text(encoding="utf-8") if file.exists() else ""


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or _HOME not in os.environ or os.environ.get(_SHARED_HOME):
        return
    folder = Path(os.environ[_HOME])
    if any(folder.iterdir()):  # somebody has used it
        from airflow_trickle.spark import embedded

        embedded.stop()
    shutil.rmtree(folder, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.timeout(0))  # it ends when its own time is up
    items.sort(key=_lateness)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that ran into its time limit tells what the Spark server did, which is not used any further."""
    report = yield
    from tests import hanging

    if hanging.is_timeout(call) and item.get_closest_marker("spark"):
        report.sections.append(("the Spark server of the run", hanging.threads_of_the_server()))
        hanging.end_the_server()
    return report


def _lateness(item: pytest.Item) -> int:
    return next((at for at, start in enumerate(_LONG) if item.nodeid.startswith(start)), len(_LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a file stay together, and so do those of the files that share an Airflow."""
    if config.getoption("dist") != "loadfile":
        return None  # somebody wants it otherwise
    config.option.loadscopereorder = False  # ours is the order of the items, not how many tests a file has
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return _SHARING[0] if file in _SHARING else file

    return Together(config, log)


#: Changes fields of the tuning record, as in ``tuned(lease_seconds=1.0)``.
Tuned = Callable[..., None]


@pytest.fixture
def tuned() -> Iterator[Tuned]:
    """Changes fields of the tuning record for the rest of the test."""
    with ExitStack() as blocks:

        def change(**changes: float) -> None:
            blocks.enter_context(tuned_block(**changes))

        yield change


@pytest.fixture(scope="session")
def spark_home() -> Path:
    """The folder of the run's embedded server, which runs."""
    from airflow_trickle.spark import embedded

    embedded.ensure_running()
    return Path(os.environ[_HOME])


@pytest.fixture(scope="module")
def spark(spark_home: Path) -> Iterator[SparkSession]:
    """A session on the run's embedded server for the tests of a file; the views that they leave go with it."""
    from airflow_trickle.spark.session import close, connect
    from airflow_trickle.spark.target import SparkTarget

    session = connect(SparkTarget(), app="tests")
    yield session
    close(session)
