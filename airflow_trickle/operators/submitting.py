"""Work for a cluster that applications are submitted to: look from here whether there is any, and submit only then."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from airflow_trickle import clock
from airflow_trickle.errors import CaptureFailed, RefreshFailed, TrickleError
from airflow_trickle.hooks.connections import connection_fields
from airflow_trickle.hooks.submit import environment_of, submit_hook, submitted
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import SparkTarget
from airflow_trickle.spark.tuning import chosen_settings
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from airflow_trickle.engine.group import GroupRefresh
    from airflow_trickle.engine.submission.answer import Answer
    from airflow_trickle.engine.submission.request import RefreshRequest, Request
    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.plan.steps import CaptureStep, RefreshStep, TableStep
    from airflow_trickle.results import Iteration, TableResult
    from airflow_trickle.tick import Tick

log = logging.getLogger("airflow_trickle")

_POLL_SECONDS = 0.5


class NeedsSpark(BaseException):
    """There is work that needs Spark: submit it.

    Not an `Exception`, since it is no failure: nobody on its way may take it for one and write it into the history.
    """


class Submitter(SparkProvider):
    """Stands for a Spark that is not to be had in this process: whoever asks for its session gets `NeedsSpark`.

    A refresh asks for the session before it writes anything, so that it can be broken off there and done elsewhere.
    """

    def __init__(self, target: SparkTarget, conn_id: str) -> None:
        super().__init__(target)
        self._submit_target = target
        self._conn_id = conn_id
        self._hook: Any = None
        self._killed = False

    @property
    def session(self) -> NoReturn:
        """Raises `NeedsSpark`."""
        raise NeedsSpark

    def interrupt(self) -> None:
        """End the application, if one is on its way."""
        self._killed = True
        if self._hook is not None:
            self._hook.on_kill()

    def run(self, lake: Lakehouse, request: Request, environment: dict[str, str]) -> Answer:
        """Submit a request, wait for the application to end, and return what it says became of it.

        Raises:
            SettingsError: there is nothing to submit with.
            RefreshFailed: it ended without a word.
        """
        from airflow_trickle.engine.submission.answer import answer_of
        from airflow_trickle.lakehouse import submissions

        if self._killed:
            raise RefreshFailed("this task was ended before anything was submitted")
        number = submissions.add(lake, tick_id=request.tick_id, unit=request.unit, request=request.as_json())
        try:
            arguments = ["--catalog", lake.name, "--submission", number]
            self._hook = submit_hook(self._submit_target, self._conn_id, f"trickle {request.unit}", arguments)
            log.info("Submitting %s with %s.", request.unit, self._submit_target)
            failure = submitted(self._hook, self._submit_target, environment)
            said = self._outcome(lake, number, patient=failure is not None)
            if said is None:
                raise RefreshFailed(self._without_a_word(failure))
            return answer_of(said)
        finally:
            submissions.remove(lake, number)

    @property
    def settings(self) -> dict[str, str]:
        """What the connection wants otherwise, of what decides the meaning of a query."""
        return chosen_settings(dict(self._submit_target.conf))

    @property
    def in_cluster(self) -> bool:
        """Whether the driver runs in the cluster, where its log stays."""
        return dict(self._submit_target.options).get("deploy_mode") == "cluster"

    def _outcome(self, lake: Lakehouse, number: str, *, patient: bool) -> str | None:
        from airflow_trickle.lakehouse import submissions

        deadline = time.monotonic() + (tuning().submission_outcome_seconds if patient else 0.0)
        while True:
            found = submissions.find(lake, number)
            if found is None or found.outcome is not None:
                return None if found is None else found.outcome
            if self._killed or time.monotonic() >= deadline:
                return None
            time.sleep(_POLL_SECONDS)

    def _without_a_word(self, failure: str | None) -> str:
        where = "the log of its driver in the cluster" if self.in_cluster else "the lines above, which are its log"
        ended = "was ended, since this task was" if self._killed else "ended without saying what became of its work"
        how = "" if failure is None or self._killed else f" ({failure})"
        return (
            f"the application that was given to {self._submit_target} {ended}{how}. See {where}. Whatever it published "
            f"is complete; the next attempt goes on from there"
        )


def spark_at(target: SparkTarget, conn_id: str) -> SparkProvider:
    """Spark for a task: sessions, or for a cluster that work is submitted to, a `Submitter`."""
    return Submitter(target, conn_id) if target.kind == "submit" else SparkProvider(target)


#: Is told of every pass; from a cluster when all is done.
Progress = Callable[["Iteration"], None]


def refreshed(
    lake: Lakehouse,
    step: RefreshStep,
    tick: Tick,
    spark: SparkProvider,
    full: bool,
    progress: Progress = lambda _: None,
) -> tuple[TableResult, ...]:
    """Refresh a unit: here, or where Spark is."""
    from airflow_trickle.engine.refresh import refresh
    from airflow_trickle.engine.submission.request import RefreshRequest

    try:
        return refresh(lake, step, tick, spark, full, progress)
    except NeedsSpark:
        return _elsewhere(lake, RefreshRequest(step, tick, full), spark, step.tables, progress)


def staged(group: GroupRefresh, member: str) -> tuple[TableResult, ...]:
    """Stage a member of an atomic group: here, or where Spark is."""
    from airflow_trickle.engine.submission.request import RefreshRequest

    try:
        return group.stage(member)
    except NeedsSpark:
        request = RefreshRequest(group.step, group.tick, group.full_refresh, member=member)
        tables = next(part.tables for part in group.step.parts if part.unit == member)
        return _elsewhere(group.lake, request, group.spark, tables, group.progress)


def committed(group: GroupRefresh) -> tuple[TableResult, ...]:
    """Publish an atomic group: here, or where Spark is, if the work of a member was lost."""
    from airflow_trickle.engine.submission.request import RefreshRequest

    try:
        return group.commit()
    except NeedsSpark:
        request = RefreshRequest(group.step, group.tick, group.full_refresh)
        return _elsewhere(group.lake, request, group.spark, group.step.tables, group.progress)


def _elsewhere(
    lake: Lakehouse,
    request: RefreshRequest,
    spark: SparkProvider,
    tables: Sequence[TableStep],
    progress: Progress,
) -> tuple[TableResult, ...]:
    """Have an application do it that is submitted for that."""
    from airflow_trickle.engine.record import Refresh, record_failure
    from airflow_trickle.engine.refresh import describe

    assert isinstance(spark, Submitter)  # noqa: S101 - nobody else raises `NeedsSpark`
    began, counter = clock.now(), time.monotonic()
    request = replace(request, settings=spark.settings)
    try:
        answer = spark.run(lake, request, environment_of(spark.target))
        while answer.unfinished:
            for done in answer.passes:
                progress(done)
            log.info("%s has not settled yet: submitting it again.", request.unit)
            answer = spark.run(lake, request, environment_of(spark.target))
    except TrickleError as error:
        # Nobody but us knows of it; what the application itself has met is in the history already.
        if isinstance(error, RefreshFailed):
            first = tables[0]
            error = RefreshFailed(f"{first.declared_at}: stream table '{first.name}' was not refreshed: {error}.")
        for table in tables:
            record_failure(Refresh(lake, table, request.tick, spark, began, counter), error)
        raise error from None
    for done in answer.passes:
        progress(done)
    results = answer.or_raise()
    if spark.in_cluster:
        for result in results:
            log.info(describe(result, "published" if request.member is None else "staged"))
    return results


def captured(lake: Lakehouse, step: CaptureStep, tick_id: str, spark: SparkProvider) -> TableResult:
    """Capture a source: here, or where Spark is."""
    from airflow_trickle.engine.capture.capture import capture, describe
    from airflow_trickle.engine.capture.record import Run, record_failure
    from airflow_trickle.engine.submission.request import CaptureRequest

    began, counter = clock.now(), time.monotonic()
    try:
        return capture(lake, step, tick_id, spark, connection_fields)
    except NeedsSpark:
        assert isinstance(spark, Submitter)  # noqa: S101 - nobody else raises it
    try:
        environment = environment_of(spark.target, step)
        answer = spark.run(lake, CaptureRequest(step, tick_id, spark.settings), environment)
    except TrickleError as error:
        if isinstance(error, RefreshFailed):
            error = CaptureFailed(f"{step.declared_at}: source '{step.name}' was not captured: {error}.")
        record_failure(Run(lake, step, tick_id, spark, began, counter), error)
        raise error from None
    (result,) = answer.or_raise()
    if spark.in_cluster:
        log.info(describe(result))
    return result
