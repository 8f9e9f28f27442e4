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


def moment_of_millis(millis: int) -> datetime:
    """The moment so many milliseconds after 1970, as Iceberg writes it.

    >>> moment_of_millis(1500).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    return datetime.fromtimestamp(millis / 1000, timezone.utc)
