"""What the last tick of a pipeline planned: strata, cycles, mutual groups."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.tables import mutual_groups, places, status

_AT_A_TIME = 500


@dataclass(frozen=True)
class Place:
    """Where a stream table stood in the graph of the last tick of its pipeline."""

    stratum: int
    #: The number of its cycle; None outside of any.
    scc_id: int | None = None


@dataclass(frozen=True)
class MutualGroup:
    """The stream tables that stand for one query with mutual recursion, by identifier."""

    #: The table whose query it is.
    identifier: str
    pipeline: str
    #: CTE and stream table, by their order in the query.
    members: tuple[tuple[str, str], ...]
    #: The CTEs that read each other.
    groups: tuple[tuple[str, ...], ...]
    #: The query as it was written.
    query: str
    created_at: datetime

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables of the group; last the one whose query it is."""
        return (*(table for _, table in self.members), self.identifier)

    def cte_of(self, identifier: str) -> str | None:
        """The CTE that a table of the group stands for; None for the table whose query it is."""
        return next((cte for cte, table in self.members if table == identifier), None)


def read_places(lake: Lakehouse) -> dict[str, Place]:
    """Where every stream table stood when its pipeline ticked last."""
    query = select(places).where(places.c.catalog == lake.name).order_by(places.c.identifier)
    with lake.database.reading() as connection:
        return {row.identifier: Place(row.stratum, row.scc_id) for row in connection.execute(query)}


def record_places(lake: Lakehouse, connection: Connection, pipeline: str, now: Mapping[str, Place]) -> None:
    """Note where the tables of a pipeline stand; those that it no longer has stand nowhere."""
    columns = places.c
    query = select(places).where(columns.catalog == lake.name, columns.pipeline == pipeline)
    known = {row.identifier: Place(row.stratum, row.scc_id) for row in connection.execute(query)}
    if known == dict(now):
        return
    changed = sorted(name for name in now if known.get(name) != now[name])
    # A table that another pipeline had before is this one's now.
    outdated = sorted({*changed, *(known.keys() - now.keys())})
    for start in range(0, len(outdated), _AT_A_TIME):
        names = outdated[start : start + _AT_A_TIME]
        connection.execute(delete(places).where(columns.catalog == lake.name, columns.identifier.in_(names)))
    if changed:
        owner = {"catalog": lake.name, "pipeline": pipeline}
        rows = [{**owner, "identifier": name, **asdict(now[name])} for name in changed]
        connection.execute(insert(places), rows)


def read_mutual_groups(lake: Lakehouse) -> dict[str, MutualGroup]:
    """Every mutual group by the table whose query it is."""
    query = select(mutual_groups).where(mutual_groups.c.catalog == lake.name).order_by(mutual_groups.c.identifier)
    with lake.database.reading() as connection:
        return {row["identifier"]: _group(row) for row in connection.execute(query).mappings()}


def mutual_group_of(lake: Lakehouse, identifier: str) -> MutualGroup | None:
    """The mutual group that a table is part of."""
    return next((group for group in read_mutual_groups(lake).values() if identifier in group.tables), None)


def record_mutual_groups(
    lake: Lakehouse, connection: Connection, pipeline: str, tables: Collection[str], groups: Sequence[MutualGroup]
) -> None:
    """Keep the mutual groups of a pipeline with their queries, each since it was first seen.

    One that its pipeline has no longer stays as long as tables of it are left over: ``trickle drop`` removes them.

    Args:
        lake: The lakehouse.
        connection: The transaction.
        pipeline: The pipeline.
        tables: The stream tables that it has, by identifier.
        groups: Its mutual groups.
    """
    columns = mutual_groups.c
    query = select(mutual_groups).where(columns.catalog == lake.name, columns.pipeline == pipeline)
    known = {row["identifier"]: _group(row) for row in connection.execute(query).mappings()}
    present = {group.identifier for group in groups}
    for group in groups:
        values = _values(group)
        before = known.get(group.identifier)
        if before is not None and _values(before) == values:
            continue
        key = (columns.catalog == lake.name) & (columns.identifier == group.identifier)
        if connection.execute(update(mutual_groups).where(key).values(**values)).rowcount == 0:
            created = clock.text_of(group.created_at)
            row = {"catalog": lake.name, "identifier": group.identifier, "created_at": created, **values}
            connection.execute(insert(mutual_groups).values(**row))
    for name, group in sorted(known.items()):
        # Its CTEs may be written as tables now, or be part of another query.
        if name not in present and name in tables and all(one in tables for one in group.tables):
            connection.execute(delete(mutual_groups).where(columns.catalog == lake.name, columns.identifier == name))


def forget_topology(lake: Lakehouse, connection: Connection, identifier: str) -> None:
    """Remove what is known of a table that was dropped; and its mutual group, if it was the last table of it."""
    connection.execute(delete(places).where(places.c.catalog == lake.name, places.c.identifier == identifier))
    columns = mutual_groups.c
    for row in connection.execute(select(mutual_groups).where(columns.catalog == lake.name)).mappings().all():
        group = _group(row)
        if identifier not in group.tables:
            continue
        left = select(status.c.identifier).where(status.c.catalog == lake.name, status.c.identifier.in_(group.tables))
        if connection.execute(left.limit(1)).first() is None:
            key = (columns.catalog == lake.name) & (columns.identifier == group.identifier)
            connection.execute(delete(mutual_groups).where(key))


def _values(group: MutualGroup) -> dict[str, Any]:
    return {
        "pipeline": group.pipeline,
        "members": json.dumps(group.members),
        "groups": json.dumps(group.groups),
        "query": group.query,
    }


def _group(row: Mapping[Any, Any]) -> MutualGroup:
    return MutualGroup(
        identifier=row["identifier"],
        pipeline=row["pipeline"],
        members=tuple((cte, table) for cte, table in json.loads(row["members"])),
        groups=tuple(tuple(group) for group in json.loads(row["groups"])),
        query=row["query"],
        created_at=clock.moment_of(row["created_at"]),
    )
