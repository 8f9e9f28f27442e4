"""The application's side: do what was asked for, and say what became of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from airflow_trickle.engine.capture.capture import capture
from airflow_trickle.engine.fixpoint.checkpoint import SubmissionOver
from airflow_trickle.engine.group import GroupRefresh
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.engine.submission.answer import Answer
from airflow_trickle.engine.submission.request import CaptureRequest, Request, request_of
from airflow_trickle.errors import RefreshFailed, TrickleError
from airflow_trickle.lakehouse import submissions
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.plan.steps import UnitKind
from airflow_trickle.results import Iteration, TableResult
from airflow_trickle.spark.session import SparkProvider

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("airflow_trickle")


def perform(lake: Lakehouse, submission_id: str, session: Callable[[], SparkSession]) -> bool:
    """Do what a request asks for and write the outcome beside it; whether it was done.

    ``session`` starts Spark, which is not needed if there is nothing to do: because the request was withdrawn, or
    because a cluster starts a driver again that had ended with an error.
    """
    found = submissions.find(lake, submission_id)
    if found is None:
        log.warning("Submission %s was withdrawn: a later attempt does its work.", submission_id)
        return False
    if found.outcome is not None:
        log.warning("Submission %s was answered before.", submission_id)
        return False
    answer = _answer(lake, found.request, session)
    if not submissions.answer(lake, submission_id, answer.as_json()):
        log.warning("Nobody waits for submission %s any more.", submission_id)
    return answer.error is None


def _answer(lake: Lakehouse, text: str, session: Callable[[], SparkSession]) -> Answer:
    passes: list[Iteration] = []
    try:
        request = request_of(text)
        with SparkProvider.of_application(session(), request.settings) as spark:
            return Answer(_done(lake, request, spark, passes), passes=tuple(passes))
    except SubmissionOver:
        return Answer(passes=tuple(passes), unfinished=True)
    except TrickleError as error:
        log.error("%s", error)
        return Answer(error=error, passes=tuple(passes))
    except Exception as error:
        log.exception("The application failed.")
        cause = f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0]}"
        told = RefreshFailed(f"The application failed of an error that should not happen ({cause}). See its log.")
        return Answer(error=told, passes=tuple(passes))


def _done(lake: Lakehouse, request: Request, spark: SparkProvider, passes: list[Iteration]) -> tuple[TableResult, ...]:
    if isinstance(request, CaptureRequest):
        return (capture(lake, request.step, request.tick_id, spark),)
    step, tick, full = request.step, request.tick, request.full_refresh
    if step.kind is not UnitKind.GROUP:
        return refresh(lake, step, tick, spark, full, passes.append)
    group = GroupRefresh(lake, step, tick, spark, full, passes.append)
    return group.commit() if request.member is None else group.stage(request.member)
