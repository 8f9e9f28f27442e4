"""Spark's errors in words: what failed, why, and whether it is the query, the disk or the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from airflow_trickle.engine.places import place_of
from airflow_trickle.errors import (
    Position,
    Problem,
    QueryRejected,
    RefreshFailed,
    SparkUnavailable,
    TrickleError,
    UnsupportedTable,
    WarehouseUnavailable,
)
from airflow_trickle.lakehouse.files import cannot_write
from airflow_trickle.plan.steps import TableStep

_DISK = (
    "no space left on device",
    "disk quota exceeded",
    "read-only file system",
    "permission denied",
    "mkdirs failed",
)
_WRAPPED = re.compile(r"\(java\.util\.concurrent\.ExecutionException\) (?:[\w.$]+\.)?(?P<inner>\w+): ")
#: What ends a message of Spark's analyzer; a place in what ran and a plan follow.
_STATE = re.compile(r"SQLSTATE: \w{5}")
#: What Spark's own classes of errors that come from rows are called.
_ROW_ERRORS = frozenset(
    {
        "SparkArithmeticException",
        "SparkArrayIndexOutOfBoundsException",
        "SparkDateTimeException",
        "SparkNumberFormatException",
        "SparkRuntimeException",
    }
)
_LOST = (
    "statuscode.unavailable",
    "connection refused",
    "socket closed",
    "connection reset",
    "session not found",
    "invalid_handle",
    "failed to connect",
    "sparkcontext was shut down",
    "stopped sparkcontext",
    # A driver's Python whose Java is gone.
    "answer from java side is empty",
    "connect to the java server",
    "error while sending or receiving",
)


@contextmanager
def explained(step: TableStep, place: str, done: str = "refreshed") -> Iterator[None]:
    """Turn what Spark raises inside the block into one of our errors; ours pass as they are.

    Args:
        step: the table that is being worked on.
        place: where its files are written, for errors of the disk.
        done: what was to be done with it.
    """
    try:
        yield
    except UnsupportedTable as error:
        raise UnsupportedTable(f"{step.declared_at}: stream table '{step.name}': {error}") from error
    except TrickleError:
        raise
    except Exception as error:
        raise translate(error, step, place, done) from error


def translate(error: Exception, step: TableStep, place: str, done: str = "refreshed") -> TrickleError:
    """The error of ours that says what an error of Spark or gRPC means."""
    error = cause_of(error)
    text = str(error)
    if (full := no_room(text, place)) is not None:
        return full
    if is_foreign_to_spark(error):
        raise error
    if is_lost(error):
        return SparkUnavailable(
            f"Spark stopped answering while stream table '{step.name}' was being {done}: {first_lines(text, 1)} "
            f"Nothing was published; the next attempt starts a new session."
        )
    at = place_of(error, step) or Position.parse(step.declared_at)
    whose = f"{at}: stream table '{step.name}' was not {done}"
    if not _is_analysis(error):
        return RefreshFailed(f"{whose}: its query failed on Spark: {first_lines(text, 3)} Nothing was published.")
    complaint = f"Spark does not accept its query: {_complaint(text)}"
    problem = Problem(at, f"stream table '{step.name}': {complaint}")
    return QueryRejected(f"{whose}: {complaint}. Nothing was published.", problem, step.name)


def _complaint(text: str) -> str:
    """What Spark's analyzer says, without a place: it would be one in what ran, not in what a person wrote."""
    end = _STATE.search(text)
    return first_lines(text, 3).rstrip(".;") if end is None else " ".join(_unwrapped(text[: end.end()]).split())


def cause_of(error: Exception) -> Exception:
    """What a job failed of. In a driver of its own, pyspark may raise Java's outermost exception, which is no help."""
    java = getattr(error, "java_exception", None)
    if java is None:
        return error
    from pyspark.errors.exceptions.captured import UnknownException, convert_exception

    with suppress(Exception):  # Java may be gone by now
        while java is not None:
            found = convert_exception(java)
            if not isinstance(found, UnknownException):
                return found
            java = java.getCause()
    return error


def no_room(text: str, place: str) -> WarehouseUnavailable | None:
    """What a message means that tells of a disk that takes no files, if it does."""
    sign = next((sign for sign in _DISK if sign in text.lower()), None)
    return None if sign is None else WarehouseUnavailable(cannot_write(place, sign.capitalize()))


def is_lost(error: Exception) -> bool:
    """Whether an error means that the server is not there any more."""
    return any(sign in str(error).lower() for sign in _LOST) and "analysis" not in type(error).__name__.lower()


def is_foreign_to_spark(error: Exception) -> bool:
    """Programming errors of ours must look like what they are."""
    module = type(error).__module__
    return not module.startswith(("pyspark", "grpc", "py4j"))


def _is_analysis(error: Exception) -> bool:
    return type(error).__name__ in ("AnalysisException", "ParseException")


def first_lines(text: str, lines: int) -> str:
    """The lines of Spark's message that are meant for people."""
    useful = [line.strip() for line in _unwrapped(text).splitlines() if line.strip()]
    # Spark's own advice and plan follow after the message; the first lines tell what is wrong.
    kept = []
    for line in useful[:lines]:
        if line.startswith(("==", "'Project", "JVM stacktrace", "+-", "SQLSTATE")):
            break
        kept.append(line)
    return " ".join(kept)


def _unwrapped(text: str) -> str:
    """A message without the names of Java's classes around it: what fails in a broadcast comes so."""
    found = _WRAPPED.match(text.strip())
    return text.strip() if found is None else text.strip()[found.end() :]


def fails_inside_spark(error: Exception) -> bool:
    """Whether Spark could not plan or run a query by no fault of the query's rows: it fails inside, or refuses it.

    Spark names what it foresees; a Java exception without such a name is a fault of its planner's.
    """
    from pyspark.errors import (
        AnalysisException,
        IllegalArgumentException,
        PySparkException,
        UnknownException,
        UnsupportedOperationException,
    )

    error = cause_of(error)
    if not isinstance(error, PySparkException) or is_lost(error) or no_room(str(error), "") is not None:
        return False
    condition = error.getCondition()
    if condition is not None and condition.startswith("INTERNAL_ERROR"):
        return True
    if isinstance(error, AnalysisException):
        return True
    unforeseen = (UnknownException, IllegalArgumentException, UnsupportedOperationException)
    return condition is None and isinstance(error, unforeseen)


def fails_on_rows(error: Exception) -> bool:
    """Whether an error comes from what is in some rows: a division by zero, a bad cast, two rows for one value."""
    from pyspark.errors import (
        ArithmeticException,
        ArrayIndexOutOfBoundsException,
        DateTimeException,
        NumberFormatException,
        SparkRuntimeException,
    )

    error = cause_of(error)
    kinds = (ArithmeticException, ArrayIndexOutOfBoundsException, DateTimeException, NumberFormatException)
    if isinstance(error, (*kinds, SparkRuntimeException)):
        return True
    wrapped = _WRAPPED.match(str(error).strip())
    return wrapped is not None and wrapped["inner"] in _ROW_ERRORS
