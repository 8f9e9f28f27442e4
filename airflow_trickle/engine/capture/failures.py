"""What went wrong in a capture, in words: whose it is, where it is defined, and no secret in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_trickle.engine.capture.contents import SourceMoved
from airflow_trickle.engine.capture.secrets import Options
from airflow_trickle.engine.failures import cause_of, first_lines, is_foreign_to_spark, is_lost, no_room
from airflow_trickle.errors import (
    CaptureFailed,
    CatalogUnavailable,
    CommitConflict,
    LeaseHeld,
    SourceMissing,
    SparkUnavailable,
    TrickleError,
    UnsupportedTable,
    WarehouseUnavailable,
)
from airflow_trickle.plan.steps import CaptureStep

#: Errors that speak for themselves.
_COMPLETE = (CatalogUnavailable, CommitConflict, LeaseHeld, SourceMoved)
#: What a fragment of ours becomes a sentence of.
_SAME_KIND = (SourceMissing, UnsupportedTable, WarehouseUnavailable)


@contextmanager
def told(step: CaptureStep, options: Options, place: str) -> Iterator[None]:
    """Turn whatever is raised inside the block into an error that can be shown.

    Args:
        step: the source that is captured.
        options: its options, whose secrets must not be shown.
        place: where the mirror's files are written, for errors of the disk.
    """
    try:
        yield
    except _COMPLETE:
        raise
    except TrickleError as error:
        if str(error).startswith(step.declared_at):
            raise
        kind = next((kind for kind in _SAME_KIND if isinstance(error, kind)), CaptureFailed)
        raise kind(_sentence(step, options, str(error))) from None
    except Exception as error:
        # Without its cause where there are secrets: a traceback of Spark's may show an address with a password.
        raise _translated(error, step, options, place) from (None if options.secrets else error)


def _translated(error: Exception, step: CaptureStep, options: Options, place: str) -> TrickleError:
    error = cause_of(error)
    text = str(error)
    if (full := no_room(text, place)) is not None:
        return full
    if isinstance(error, OSError):
        cause = (text.strip() or type(error).__name__).splitlines()[0].rstrip(".")
        return WarehouseUnavailable(_sentence(step, options, f"a file cannot be read or written ({cause})"))
    if is_foreign_to_spark(error):
        cause = f"{type(error).__name__}: {(text.strip() or 'no message').splitlines()[0]}"
        return CaptureFailed(_sentence(step, options, f"an error that should not happen ({cause}). Please report it"))
    if is_lost(error):
        return SparkUnavailable(
            options.masked(
                f"Spark stopped answering while source '{step.name}' was being captured: {first_lines(text, 1)} "
                f"Nothing was published; the next attempt starts a new session."
            )
        )
    return CaptureFailed(_sentence(step, options, f"Spark cannot read it: {_useful(text)}"))


def _sentence(step: CaptureStep, options: Options, what: str) -> str:
    end = "" if what.rstrip().endswith((".", "!", "?")) else "."
    said = f"{step.declared_at}: source '{step.name}' was not captured: {what.rstrip()}{end} Nothing was published."
    return options.masked(said)


def _useful(text: str) -> str:
    """The lines of Spark's message that tell what is wrong: of a job that failed, those of its cause."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.partition("Caused by:")[2].strip() for line in lines if line.startswith("Caused by:")]
    first = first_lines(text, 3)
    return f"{first} {causes[-1]}" if causes else first
