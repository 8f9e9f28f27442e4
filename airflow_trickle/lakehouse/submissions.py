"""The post box between a task and the application it has submitted: a request goes in, an outcome comes out."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, delete, insert, or_, select, update

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.tables import submissions

#: Requests that nobody has come back for are removed after this long.
_KEPT = timedelta(days=30)


@dataclass(frozen=True)
class Submission:
    """A request, and what became of it if it is done; both as JSON."""

    submission_id: str
    request: str
    outcome: str | None


def add(lake: Lakehouse, *, tick_id: str, unit: str, request: str) -> str:
    """Put in a request and get its id; withdraws what earlier attempts of the same work have asked for.

    An application of an earlier attempt that has not begun yet then finds nothing to do.
    """
    submission_id = uuid.uuid4().hex
    now = clock.now()
    same = (submissions.c.tick_id == tick_id) & (submissions.c.unit == unit)
    old = submissions.c.created_at < clock.text_of(now - _KEPT)
    with lake.database.transaction() as connection:
        connection.execute(delete(submissions).where(submissions.c.catalog == lake.name, or_(same, old)))
        connection.execute(
            insert(submissions).values(
                catalog=lake.name,
                submission_id=submission_id,
                tick_id=tick_id,
                unit=unit,
                request=request,
                created_at=clock.text_of(now),
            )
        )
    return submission_id


def find(lake: Lakehouse, submission_id: str) -> Submission | None:
    """A request by its id; None if it was withdrawn."""
    with lake.database.reading() as connection:
        row = connection.execute(select(submissions).where(_is(lake, submission_id))).mappings().first()
    return None if row is None else Submission(row["submission_id"], row["request"], row["outcome"])


def answer(lake: Lakehouse, submission_id: str, outcome: str) -> bool:
    """Say what became of a request; False if nobody waits for it any more, or if it was answered before."""
    with lake.database.transaction() as connection:
        said = connection.execute(
            update(submissions).where(_is(lake, submission_id), submissions.c.outcome.is_(None)).values(outcome=outcome)
        )
    return bool(said.rowcount)


def remove(lake: Lakehouse, submission_id: str) -> None:
    """Forget a request whose outcome was read, or for which there will be none."""
    with lake.database.transaction() as connection:
        connection.execute(delete(submissions).where(_is(lake, submission_id)))


def _is(lake: Lakehouse, submission_id: str) -> ColumnElement[bool]:
    return (submissions.c.catalog == lake.name) & (submissions.c.submission_id == submission_id)
