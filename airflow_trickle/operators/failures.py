"""How an error of ours ends a task: its words first in the log, a retry only where one may help."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_trickle.alerts import non_convergence_details
from airflow_trickle.errors import (
    CannotRestate,
    DefinitionError,
    ForeignTable,
    NonConvergence,
    NotTheOwner,
    QueryRejected,
    SettingsError,
    SourceMissing,
    TrickleError,
    UnsupportedTable,
)

log = logging.getLogger("airflow_trickle")

#: What a second attempt would meet unchanged: somebody has to correct something first.
FINAL = (
    CannotRestate,
    DefinitionError,
    ForeignTable,
    NotTheOwner,
    QueryRejected,
    SettingsError,
    SourceMissing,
    UnsupportedTable,
)


class DidNotSettle(AirflowFailException):
    """A cycle did not settle; ``trickle`` is what callbacks are told. There is no retry: it would be the same."""

    def __init__(self, message: str, trickle: dict[str, Any]) -> None:
        super().__init__(message)
        self.trickle = trickle


@contextmanager
def told_in_words(*, pipeline: str = "", cap: int = 0) -> Iterator[None]:
    """Turn a `TrickleError` into Airflow's failure, with or without a retry.

    The message goes to the log by itself, ahead of the traceback that Airflow prints for every failure.
    The traceback of the cause is for us, not for the author of a query: it is logged at debug level.

    Args:
        pipeline: what callbacks are told of a cycle that did not settle: its pipeline.
        cap: how many passes it may take.
    """
    try:
        yield
    except TrickleError as error:
        log.error("%s", error)
        log.debug("Where it came from:", exc_info=error)
        if isinstance(error, NonConvergence):
            raise DidNotSettle(str(error), non_convergence_details(error, pipeline=pipeline, cap=cap)) from None
        kind = AirflowFailException if isinstance(error, FINAL) else AirflowException
        raise kind(str(error)) from None
