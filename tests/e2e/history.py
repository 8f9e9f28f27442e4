"""Sources with a past: snapshots at moments of our choice, as a writer of that time would have left them."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import text


def backdate(catalog: SqlCatalog, identifier: str, moments: list[datetime]) -> None:
    """Give the snapshots of a table, oldest first, other times."""
    table = catalog.load_table(identifier)
    before = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(before.read_text())
    assert len(metadata["snapshots"]) == len(moments)
    times = {
        snapshot["snapshot-id"]: int(moment.timestamp() * 1000)
        for snapshot, moment in zip(metadata["snapshots"], moments, strict=True)
    }
    for snapshot in metadata["snapshots"]:
        snapshot["timestamp-ms"] = times[snapshot["snapshot-id"]]
    for entry in metadata["snapshot-log"]:
        entry["timestamp-ms"] = times[entry["snapshot-id"]]
    metadata["last-updated-ms"] = max(times.values())
    metadata["metadata-log"] = []
    after = before.with_name(f"99999-{before.name}")
    after.write_text(json.dumps(metadata))
    namespace, _, name = identifier.rpartition(".")
    with catalog.engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE iceberg_tables SET metadata_location = :after WHERE table_namespace = :namespace AND "
                "table_name = :name"
            ),
            {"after": f"file://{after}", "namespace": namespace, "name": name},
        )
