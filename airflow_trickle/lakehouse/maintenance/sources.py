"""Tables that others write: their snapshots are never touched, but a frontier that will be cut is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from pyiceberg.table import Table
from pyiceberg.utils.properties import property_as_int

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import OWNED
from airflow_trickle.lakehouse.state import TableStatus

_MAX_AGE = "history.expire.max-snapshot-age-ms"
_MIN_NUMBER = "history.expire.min-snapshots-to-keep"
#: What the format says where the table says nothing.
_DEFAULT_AGE_MS = 5 * 86_400_000
#: A frontier that its owner may cut within this time is told.
_SOON = timedelta(days=1)


def frontier_warnings(
    lake: Lakehouse, readers: Mapping[str, TableStatus], now: datetime, only: Iterable[str] | None = None
) -> list[str]:
    """What readers have to fear from the expiry of tables that others write; ``only``: of these readers."""
    wanted = set(readers if only is None else only)
    read = {
        name
        for identifier, one in readers.items()
        if identifier in wanted and one.frontier is not None
        for name in one.frontier.inputs
        if name not in readers
    }
    tables = {name: table for name, table in lake.tables(read).items() if OWNED not in table.metadata.properties}
    found = []
    for identifier, one in sorted(readers.items()):
        if identifier not in wanted or one.frontier is None:
            continue
        for name, version in sorted(one.frontier.inputs.items()):
            if name in tables and (why := _danger(tables[name], version.snapshot_id, now)) is not None:
                found.append(f"{identifier} has read {name} up to snapshot {version.snapshot_id}, {why}")
    return found


def _danger(table: Table, snapshot_id: int | None, now: datetime) -> str | None:
    metadata = table.metadata
    if snapshot_id is None or snapshot_id == metadata.current_snapshot_id:
        return None
    snapshot = metadata.snapshot_by_id(snapshot_id)
    if snapshot is None:
        return (
            f"which is no longer there: its next refresh is a full one. Let the owner of the source keep snapshots "
            f"longer ({_MAX_AGE}), or refresh more often."
        )
    if any(ref.snapshot_id == snapshot_id for ref in metadata.refs.values()):
        return None
    newer = sum((one.sequence_number or 0) > (snapshot.sequence_number or 0) for one in metadata.snapshots)
    if newer < (property_as_int(metadata.properties, _MIN_NUMBER, 1) or 1):
        return None
    age = property_as_int(metadata.properties, _MAX_AGE, _DEFAULT_AGE_MS) or _DEFAULT_AGE_MS
    ends = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, now.tzinfo) + timedelta(milliseconds=age)
    if ends - now > _SOON:
        return None
    when = "may be expired at any time" if ends <= now else f"may be expired from {clock.text_of(ends)} on"
    said = "as the source says" if _MAX_AGE in metadata.properties else "which the format says where a source does not"
    return (
        f"which {when} ({_MAX_AGE} is {age}, {said}); the next refresh would then be a full one. Refresh it before, or "
        f"let the owner of the source keep snapshots longer."
    )
