"""The task that brings a cycle of stream tables to its fixed point."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_trickle.operators.base import Opened
from airflow_trickle.operators.links import HistoryLink, PassesLink
from airflow_trickle.operators.refresh import RefreshOperator
from airflow_trickle.results import Iteration
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from collections.abc import Collection

    from airflow.sdk import BaseOperatorLink, Context

    from airflow_trickle.results import TableResult

log = logging.getLogger("airflow_trickle")

#: XComs: what each pass did, a list that grows; and its last entry by itself.
ITERATIONS = "iterations"
LAST_ITERATION = "last_iteration"


class FixpointOperator(RefreshOperator):
    """Refreshes tables that read each other until a pass changes none of them, and publishes them together.

    Each pass is told in the log and, at most a second later, in XCom. A cycle that does not settle within its cap
    fails the task without a retry; killing the task cancels its work on Spark.

    Args:
        step: the cycle, from the plan.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs.
        pin_task_id: the task whose XCom is the tick.
        assets: by table, the asset that is updated when the table changes.
        passes_per_submission: how many passes one submission to Spark makes before the task looks, logs and submits
            the rest; None: as the plan says, which is all of them if nobody says otherwise.
    """

    ui_color = "#dcecf9"
    operator_extra_links: Collection[BaseOperatorLink] = (PassesLink(), HistoryLink())

    def __init__(self, *, passes_per_submission: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if passes_per_submission is not None:
            if passes_per_submission < 1:
                raise ValueError(f"passes_per_submission is {passes_per_submission}, but must be at least 1.")
            self.step = self.step.model_copy(update={"passes_per_submission": passes_per_submission})

    def _refreshed(self, context: Context, opened: Opened) -> tuple[TableResult, ...]:
        from airflow_trickle.operators.submitting import refreshed

        with telling(context) as progress:
            return refreshed(opened.lake, self.step, opened.tick, opened.spark, opened.full_refresh, progress)


@contextmanager
def telling(context: Context) -> Iterator[PassReporter]:
    """A reporter of passes; what it did not push yet is pushed at the end."""
    reporter = PassReporter(context["ti"])
    try:
        yield reporter
    finally:
        reporter.push()


class PassReporter:
    """Pushes passes to XCom as they are made.

    Args:
        task_instance: the one whose XComs they become.
    """

    def __init__(self, task_instance: Any) -> None:
        self._task_instance = task_instance
        self._passes: list[dict[str, Any]] = []
        self._pushed = 0
        self._pushed_at = float("-inf")

    def __call__(self, iteration: Iteration) -> None:
        """Take note of a pass, and push it unless the last push was only just now."""
        if iteration.number == 1 and self._passes:
            # The work began anew, from nothing: what was done before does not count.
            self._passes.clear()
            self._pushed = 0
        self._passes.append(
            {
                "iteration": iteration.number,
                "phase": iteration.phase,
                "changes": dict(iteration.changes),
                "seconds": iteration.seconds,
            }
        )
        if time.monotonic() - self._pushed_at >= tuning().iteration_push_seconds:
            self.push()

    def push(self) -> None:
        """Push what was not pushed yet; that this fails is no reason to give up the work."""
        if self._pushed == len(self._passes):
            return
        try:
            self._task_instance.xcom_push(key=ITERATIONS, value=list(self._passes))
            self._task_instance.xcom_push(key=LAST_ITERATION, value=self._passes[-1])
        except Exception as error:
            log.warning("The passes could not be pushed to XCom: %s", error)
        self._pushed = len(self._passes)
        self._pushed_at = time.monotonic()
