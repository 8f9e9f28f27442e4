"""Rows of the state tables that nobody asks for any more: history, ticks, passes of cycles.

What a retry, a restate, a backfill or the choice between full and incremental may still ask for stays. Leases and
submissions need no pruning: the dead ones are removed by whoever makes the next.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, delete, func, or_, select

from airflow_trickle import clock
from airflow_trickle.definition.maintenance import MaintenancePolicy
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.state import RESTATE
from airflow_trickle.lakehouse.tables import history, iterations, leases, prepared, staging, status, ticks

#: So many refreshes of a table stay, however old: AUTO learns from them, and people look at them.
LEAST_HISTORY = 50
#: Rows that are not older stay, however many they are: a run of yesterday may be cleared and run again.
_LEAST_AGE = timedelta(days=1)
_AT_A_TIME = 500


def prune(
    lake: Lakehouse, pipelines: Collection[str], policy: MaintenancePolicy, now: datetime, *, dry_run: bool
) -> dict[str, int]:
    """Delete what the policy does not keep of some pipelines; by table, how many rows."""
    found: dict[str, int] = {}
    for pipeline in sorted(pipelines):
        for table, wanted in (
            (history, _old_history),
            (ticks, _old_ticks),
            (iterations, _old_iterations),
        ):
            with lake.database.reading() as connection:
                keys = wanted(lake, connection, pipeline, policy, now)
            if not dry_run:
                _delete(lake, table, keys)
            found[table.name] = found.get(table.name, 0) + len(keys)
    return found


def _delete(lake: Lakehouse, table: Table, keys: list[ColumnElement[bool]]) -> None:
    """In small transactions: a refresh that commits meanwhile does not have to wait for long."""
    for start in range(0, len(keys), _AT_A_TIME):
        with lake.database.transaction() as connection:
            connection.execute(
                delete(table).where(table.c.catalog == lake.name, or_(*keys[start : start + _AT_A_TIME]))
            )


def _cuts(policy: MaintenancePolicy, now: datetime) -> tuple[str, str]:
    """What is older goes; what is younger stays."""
    recent = now - max(_LEAST_AGE, timedelta(seconds=policy.restate_window))
    return clock.text_of(min(recent, now - timedelta(seconds=policy.keep_history_for))), clock.text_of(recent)


def _old_history(
    lake: Lakehouse, connection: Connection, pipeline: str, policy: MaintenancePolicy, now: datetime
) -> list[ColumnElement[bool]]:
    old, recent = _cuts(policy, now)
    of_pipeline = and_(history.c.catalog == lake.name, history.c.pipeline == pipeline)
    newest = func.row_number().over(partition_by=history.c.identifier, order_by=history.c.id.desc())
    ranked = select(history.c.id, history.c.started_at, newest.label("place")).where(of_pipeline).subquery()
    # What was published before a table was taken back counts no longer; the row that says so must not go before them.
    restated = (
        select(func.max(history.c.id)).where(of_pipeline, history.c.action == RESTATE).group_by(history.c.identifier)
    )
    query: Select[tuple[int]] = select(ranked.c.id).where(
        ranked.c.place > LEAST_HISTORY,
        or_(
            ranked.c.started_at < old,
            and_(ranked.c.place > policy.keep_history, ranked.c.started_at < recent),
        ),
        ranked.c.id.not_in(restated),
    )
    return [history.c.id == one for one in connection.execute(query).scalars()]


def _old_ticks(
    lake: Lakehouse, connection: Connection, pipeline: str, policy: MaintenancePolicy, now: datetime
) -> list[ColumnElement[bool]]:
    """All but the recent ticks, the newest, those under way, and those that published what tables show."""
    old, recent = _cuts(policy, now)
    of_pipeline = and_(ticks.c.catalog == lake.name, ticks.c.pipeline == pipeline)
    newest = func.row_number().over(order_by=ticks.c.effective_at.desc())
    ranked = select(ticks.c.tick_id, ticks.c.created_at, newest.label("place")).where(of_pipeline).subquery()
    query: Select[tuple[str]] = select(ranked.c.tick_id).where(
        ranked.c.place > 1,
        or_(
            ranked.c.created_at < old,
            and_(ranked.c.place > policy.keep_history, ranked.c.created_at < recent),
        ),
    )
    for table, column in (
        (status, status.c.tick_id),
        (staging, staging.c.tick_id),
        (prepared, prepared.c.tick_id),
        (leases, leases.c.claim),
    ):
        in_use = select(column).where(table.c.catalog == lake.name, column.is_not(None))
        query = query.where(ranked.c.tick_id.not_in(in_use))
    return [ticks.c.tick_id == one for one in connection.execute(query).scalars()]


def _old_iterations(
    lake: Lakehouse, connection: Connection, pipeline: str, policy: MaintenancePolicy, now: datetime
) -> list[ColumnElement[bool]]:
    """The passes of all but the newest refreshes of each unit."""
    old, recent = _cuts(policy, now)
    refreshes = (
        select(iterations.c.unit, iterations.c.tick_id, func.max(iterations.c.at).label("at"))
        .where(iterations.c.catalog == lake.name, iterations.c.pipeline == pipeline)
        .group_by(iterations.c.unit, iterations.c.tick_id)
        .subquery()
    )
    newest = func.row_number().over(partition_by=refreshes.c.unit, order_by=refreshes.c.at.desc())
    ranked = select(refreshes.c.unit, refreshes.c.tick_id, refreshes.c.at, newest.label("place")).subquery()
    query = select(ranked.c.unit, ranked.c.tick_id).where(
        ranked.c.place > 1,
        or_(ranked.c.at < old, and_(ranked.c.place > policy.keep_history, ranked.c.at < recent)),
    )
    return [
        and_(iterations.c.unit == unit, iterations.c.tick_id == tick) for unit, tick in connection.execute(query).all()
    ]
