"""Whatever kills maintenance at whatever moment: nothing is lost, and the next run does the rest."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.files import found_in, place_of, spark_path
from airflow_trickle.lakehouse.maintenance.reachable import named_files
from tests import dying
from tests.lakehouse.maintenance.killed import maintain_and_die
from tests.lakehouse.maintenance.world import maintained_table, publish, read_up_to, rows_at, snapshots_of, table_of

NAME = "default.t"
COMPACTION, EXPIRY = "airflow_trickle.engine.maintenance.compaction", "airflow_trickle.lakehouse.maintenance.expiry"
POINTS = [
    (COMPACTION, "write_rows", "after"),
    (COMPACTION, "stage", "after"),
    (COMPACTION, "commit", "after"),
    (EXPIRY, "_stage", "before"),
    (EXPIRY, "_stage", "after"),
    (EXPIRY, "commit", "after"),
    (EXPIRY, "delete_files", "after"),
    (EXPIRY, "remove_empty_folders", "before"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name", "when"), POINTS, ids=lambda part: part.rpartition(".")[2])
def test_killed_maintenance_loses_nothing_and_the_next_run_heals(
    tmp_path: Path, module: str, name: str, when: str
) -> None:
    uri, warehouse = f"sqlite:///{tmp_path}/catalog.db", f"file://{tmp_path}/warehouse"
    with open_lakehouse("trickle", uri=uri, warehouse=warehouse) as lake:
        ids = [publish(lake, NAME, [number]) for number in range(8)]
        read_up_to(lake, "other.reader", {NAME: ids[3]})

    dying.die(maintain_and_die, str(tmp_path), module, name, when)

    with open_lakehouse("trickle", uri=uri, warehouse=warehouse) as lake:
        assert rows_at(lake, NAME) == list(range(8))
        for snapshot in snapshots_of(lake, NAME):
            rows_at(lake, NAME, snapshot)
        assert rows_at(lake, NAME, ids[3]) == [0, 1, 2, 3]
        table = table_of(lake, NAME)
        for one in found_in(table.io, table.metadata.location):
            os.utime(spark_path(one.location), (time.time() - 4 * 86_400,) * 2)

        maintained_table(lake, NAME)

        assert rows_at(lake, NAME) == list(range(8))
        assert rows_at(lake, NAME, ids[3]) == [0, 1, 2, 3]
        assert stagings.leftovers(lake) == []
        table = table_of(lake, NAME)
        named = named_files(lake, NAME, table)
        left = [one.location for one in found_in(table.io, table.metadata.location) if not one.is_folder]
        assert [path for path in left if place_of(table.io, path) not in named] == []
