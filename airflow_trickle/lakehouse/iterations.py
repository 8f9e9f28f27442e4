"""What each pass over a cycle changed: written with the commit, or with the failure, that it led to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, func, insert, select

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.tables import iterations
from airflow_trickle.results import Iteration


@dataclass(frozen=True)
class Trace:
    """The passes of one refresh of one unit, in order; ``at`` is when it ended."""

    pipeline: str
    tick_id: str
    unit: str
    at: datetime
    passes: tuple[Iteration, ...]


def write_iterations(
    lake: Lakehouse, connection: Connection, *, pipeline: str, tick_id: str, unit: str, trace: Sequence[Iteration]
) -> None:
    """Write down the passes of a refresh, in place of what an earlier attempt of the same tick wrote for the unit."""
    columns = iterations.c
    connection.execute(
        delete(iterations).where(columns.catalog == lake.name, columns.tick_id == tick_id, columns.unit == unit)
    )
    shared = {"catalog": lake.name, "pipeline": pipeline, "tick_id": tick_id, "unit": unit}
    at = clock.text_of(clock.now())
    rows = [
        {
            **shared,
            "at": at,
            "number": each.number,
            "phase": each.phase,
            "changes": json.dumps(each.changes),
            "seconds": each.seconds,
        }
        for each in trace
    ]
    if rows:
        connection.execute(insert(iterations), rows)


def read_iterations(
    lake: Lakehouse,
    *,
    unit: str | None = None,
    pipeline: str | None = None,
    tick_id: str | None = None,
    limit: int = 50,
) -> list[Trace]:
    """The passes of the latest ``limit`` refreshes, the newest refresh first."""
    columns = iterations.c
    which = [columns.catalog == lake.name]
    for column, wanted in ((columns.unit, unit), (columns.pipeline, pipeline), (columns.tick_id, tick_id)):
        if wanted is not None:
            which.append(column == wanted)
    latest = (
        select(columns.tick_id, columns.unit, func.max(columns.at).label("ended"))
        .where(*which)
        .group_by(columns.tick_id, columns.unit)
        .order_by(func.max(columns.at).desc(), columns.tick_id.desc(), columns.unit)
        .limit(limit)
        .subquery()
    )
    query = (
        select(iterations)
        .join(latest, (columns.tick_id == latest.c.tick_id) & (columns.unit == latest.c.unit))
        .where(columns.catalog == lake.name)
        .order_by(latest.c.ended.desc(), columns.tick_id.desc(), columns.unit, columns.number)
    )
    found: dict[tuple[str, str, str, str], list[Iteration]] = {}
    with lake.database.reading() as connection:
        for row in connection.execute(query).mappings():
            key = (row["pipeline"], row["tick_id"], row["unit"], row["at"])
            one = Iteration(
                number=row["number"], phase=row["phase"], changes=json.loads(row["changes"]), seconds=row["seconds"]
            )
            found.setdefault(key, []).append(one)
    return [
        Trace(pipeline, tick_id, unit, clock.moment_of(at), tuple(passes))
        for (pipeline, tick_id, unit, at), passes in found.items()
    ]


def units_of(lake: Lakehouse, *, pipeline: str, table: str) -> list[str]:
    """The units of a pipeline that a table was part of when passes were written down."""
    columns = iterations.c
    query = select(columns.unit, columns.changes).where(
        columns.catalog == lake.name, columns.pipeline == pipeline, columns.number == 1
    )
    with lake.database.reading() as connection:
        found = connection.execute(query.distinct()).all()
    # The passes over a recursive query tell of its parts; its unit is the table.
    return sorted({unit for unit, changes in found if table == unit or table in json.loads(changes)})
