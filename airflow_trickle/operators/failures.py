"""How an error of ours ends a task: its words first in the log, a retry only where one may help."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_trickle.errors import (
    DefinitionError,
    ForeignTable,
    SettingsError,
    SourceMissing,
    TrickleError,
    UnsupportedTable,
)

log = logging.getLogger("airflow_trickle")

#: What a second attempt would meet unchanged: somebody has to correct something first.
FINAL = (DefinitionError, ForeignTable, SettingsError, SourceMissing, UnsupportedTable)


@contextmanager
def told_in_words() -> Iterator[None]:
    """Turn a `TrickleError` into Airflow's failure, with or without a retry.

    The message goes to the log by itself, ahead of the traceback that Airflow prints for every failure.
    The traceback of the cause is for us, not for the author of a query: it is logged at debug level.
    """
    try:
        yield
    except TrickleError as error:
        log.error("%s", error)
        log.debug("Where it came from:", exc_info=error)
        kind = AirflowFailException if isinstance(error, FINAL) else AirflowException
        raise kind(str(error)) from None
