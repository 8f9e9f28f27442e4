"""Time, in one place, so that tests can hold it."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> datetime:
    """The present moment in UTC."""
    return datetime.now(timezone.utc)


def text_of(moment: datetime) -> str:
    """A moment as sortable text in UTC, to the microsecond.

    >>> text_of(datetime(2026, 1, 2, tzinfo=timezone.utc))
    '2026-01-02T00:00:00.000000+00:00'
    """
    return moment.astimezone(timezone.utc).isoformat(timespec="microseconds")


def moment_of(text: str) -> datetime:
    """The moment that `text_of` wrote."""
    return datetime.fromisoformat(text)
