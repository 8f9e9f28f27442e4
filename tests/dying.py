"""Processes that die by `kill -9` in the middle of their work.

Each is forked from one process that has loaded our code already: to load it takes seconds, and is not what is tested.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from multiprocessing.context import ForkServerContext
from typing import Any

import pyspark.sql.connect.session  # noqa: F401 - loaded once, for all that are forked

from airflow_trickle import Pipeline, runner
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.results import Iteration
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import target_from_environment
from airflow_trickle.tick import Tick

_SECONDS = 300


def die(work: Callable[..., None], *arguments: str) -> None:
    """Runs work of this module in a process of its own, which must end by SIGKILL."""
    process = _server().Process(target=_in_environment, args=(dict(os.environ), work, arguments))
    process.start()
    try:
        process.join(_SECONDS)
        assert process.exitcode == -signal.SIGKILL, f"exit code {process.exitcode}; its error is in the captured output"
    finally:
        process.kill()


@lru_cache(maxsize=1)
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _in_environment(environment: Mapping[str, str], work: Callable[..., None], arguments: tuple[str, ...]) -> None:
    """The environment is the one of the test, not the one in which the first process was forked."""
    os.environ.clear()
    os.environ.update(environment)
    work(*arguments)


def tick(path: str, module: str, name: str, when: str) -> None:
    """Runs a tick and dies when the named function is about to run or has just run."""
    _make_deadly(module, name, when)
    Pipeline.load(path).tick()


def restate(path: str, moment: str, name: str, when: str) -> None:
    """Takes a pipeline back and dies when the named function is about to run or has just run."""
    _make_deadly("airflow_trickle.engine.restate", name, when)
    Pipeline.load(path).restate(datetime.fromisoformat(moment))


def third_pass(path: str, pinned: str) -> None:
    """Refreshes the first unit of a tick and dies when its third pass is reported."""

    def deadly(one: Iteration) -> None:
        if one.number == 3:
            _die()

    plan = Pipeline.load(path).plan
    with open_lakehouse("trickle") as lake, SparkProvider(target_from_environment(plan.spark_conn_id)) as spark:
        refresh(lake, plan.refreshes[0], Tick.model_validate_json(pinned), spark, progress=deadly)


def _make_deadly(module: str, name: str, when: str) -> None:
    home = runner if module == runner.__name__ else importlib.import_module(module)
    real = getattr(home, name)

    def deadly(*args: Any, **kwargs: Any) -> None:
        if when == "after":
            real(*args, **kwargs)
        _die()

    setattr(home, name, deadly)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
