"""Loads modules before Airflow forks: a task of ours spends most of its seconds on imports if it does them itself.

Under LocalExecutor every task is a fork of the scheduler, and every DAG file is parsed by a fork of the DAG processor.
What these have imported, all their forks have.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import multiprocessing
import sys
import time
from collections.abc import Container

from airflow.configuration import conf
from airflow.listeners import hookimpl

from airflow_trickle.definition.settings import load_settings
from airflow_trickle.errors import TrickleError

log = logging.getLogger("airflow_trickle")

FOR_PARSING = ("airflow_trickle.dag_factory",)
#: Whatever the operators import when they run, and the library behind it that is loaded late.
FOR_TASKS = (
    *FOR_PARSING,
    "airflow_trickle.engine.capture.task",
    "airflow_trickle.engine.fixpoint.cycle",
    "airflow_trickle.engine.group",
    "airflow_trickle.engine.group_commit",
    "airflow_trickle.engine.idle",
    "airflow_trickle.engine.maintenance.maintain",
    "airflow_trickle.engine.pin",
    "airflow_trickle.engine.refresh",
    "airflow_trickle.engine.restate",
    "airflow_trickle.engine.submission.answer",
    "airflow_trickle.engine.submission.request",
    "airflow_trickle.hooks.spark",
    "airflow_trickle.lakehouse.strata",
    "airflow_trickle.operators.submitting",
    "airflow_trickle.spark.embedded",
    "pyarrow.acero",
    "pyiceberg.avro.decoder_fast",
    "pyiceberg.io.pyarrow",
)
#: A worker that only submits to a cluster has none.
FOR_SPARK = ("airflow_trickle.spark.channel", "pyspark.sql.connect.catalog", "pyspark.sql.connect.session")


@hookimpl
def on_starting(component: object) -> None:
    """Called by Airflow in each of its processes, and in each task, before it begins to work."""
    # Not by `isinstance`: the module of jobs is not for tasks, which must not come near the database.
    if type(component).__module__ == "airflow.jobs.job" and (wanted := modules_for(sys.modules)):
        preload(wanted)


def modules_for(loaded: Container[str]) -> tuple[str, ...]:
    """What to load in a process of Airflow's, told by the modules that it has loaded so far.

    Airflow calls the listener before a job knows its own kind, but behind the import of what runs it.
    """
    # To ask without `allow_none` would also decide it, for Airflow and for good. The first of all is the default.
    method = multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    if method != "fork" or not _wanted():
        return ()
    if "airflow.jobs.scheduler_job_runner" in loaded and "LocalExecutor" in conf.get("core", "executor"):
        return (*FOR_TASKS, *(FOR_SPARK if importlib.util.find_spec("pyspark") else ()))
    if "airflow.jobs.dag_processor_job_runner" in loaded:
        return FOR_PARSING
    return ()


def preload(names: tuple[str, ...]) -> None:
    """Import modules; what cannot be imported is left to the task, which says it better."""
    began = time.monotonic()
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            # Whatever a library does when it is imported: Airflow must start, and the others are of use.
            log.warning("%s is not loaded ahead of the tasks that need it: %r", name, error)
    log.info("Loaded ahead what tasks need, in %.1f s", time.monotonic() - began)


def _wanted() -> bool:
    try:
        return load_settings().preload
    except TrickleError:
        return False  # the DAG file tells what is wrong with the settings
