"""Which tests belong to which layer, and a guard that holds them to it.

A test without one of the markers below is part of `make fast`. It may import Airflow and build DAGs, but it starts
neither a JVM, nor PostgreSQL, nor Airflow: the guard refuses that, in every layer, so that a missing marker shows.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator, Iterable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

#: Not in the fast layer.
OUTSIDE_FAST = ("spark", "airflow", "server", "e2e", "slow", "soak")
#: What is started -> the markers with which a test may start it.
_ALLOWED = {
    "java": {"spark", "e2e"},
    "the supervisor of the embedded Spark": {"spark", "server", "e2e"},
    "PostgreSQL": {"server", "e2e"},
    "Airflow": {"airflow", "e2e"},
}
_PROGRAMS = {
    "java": "java",
    "spark-submit": "java",
    "postgres": "PostgreSQL",
    "initdb": "PostgreSQL",
    "pg_ctl": "PostgreSQL",
    "airflow": "Airflow",
}
_MODULES = {"airflow": "Airflow", "airflow_trickle.spark.supervisor": "the supervisor of the embedded Spark"}
#: Functions of `tests/databases.py` that start PostgreSQL.
_OF_POSTGRESQL = {"new_database", "server_uri"}


class NotInItsLayer(BaseException):
    """A test starts what its markers do not allow; not an Exception, so that no code under test handles it."""


class _Running:
    """The markers of the test that runs in this process; None between tests."""

    markers: frozenset[str] | None = None
    test = ""
    #: Where the tests of this process have their temporary folders.
    folder: Path | None = None


def refuse(what: str) -> None:
    """Fail the running test unless one of its markers allows it to start `what`."""
    if _Running.markers is not None and not _Running.markers & _ALLOWED[what]:
        wanted = " or ".join(sorted(_ALLOWED[what]))
        raise NotInItsLayer(f"{_Running.test} starts {what}, but is not marked {wanted}")


def started_by(command: Iterable[Any], path: str | None = None) -> str | None:
    """What a command starts, of the things that the fast layer does without; a test's own stand-in does not count."""
    words = [os.fsdecode(word) for word in command if isinstance(word, (str, bytes, os.PathLike))]
    if not words:
        return None
    program = Path(words[0]).name
    if program in ("sh", "bash") and "-c" in words[:-1]:
        return started_by(words[words.index("-c") + 1].split(), path)
    if program.startswith("python") and "-m" in words[:-1]:
        return _MODULES.get(words[words.index("-m") + 1])
    what = _PROGRAMS.get(program)
    found = shutil.which(words[0], path=path)
    if what is None or found is None:  # what is not there is not started
        return None
    is_stand_in = _Running.folder is not None and _Running.folder in Path(found).parents
    return None if is_stand_in else what


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "subprocess.Popen" or _Running.markers is None:
        return
    _, command, _, environment = arguments
    path = (environment or os.environ).get("PATH")
    what = started_by(command.split() if isinstance(command, str) else command, path)
    if what is not None:
        refuse(what)


def pytest_configure() -> None:
    sys.addaudithook(_audit)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest selects by marker."""
    for item in items:
        for marker in _markers_of(item):
            item.add_marker(marker)


def _markers_of(item: pytest.Item) -> Iterable[str]:
    fixtures = set(getattr(item, "fixturenames", ()))
    if {"spark_home", "spark"} & fixtures:
        yield "spark"
    if item.get_closest_marker("e2e"):
        yield "airflow"
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    function = getattr(item, "function", None)
    if "postgresql" in parameters.values() or (function and _OF_POSTGRESQL & set(_names(function.__code__))):
        yield "server"


def _names(code: CodeType) -> Iterable[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _Running.markers = frozenset(marker.name for marker in item.iter_markers())
    _Running.test = item.nodeid
    _Running.folder = item.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    try:
        return (yield)
    finally:
        _Running.markers = None
