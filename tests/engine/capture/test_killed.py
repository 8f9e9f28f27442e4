"""`kill -9` at every stage of a capture: the next tick ends right, nothing twice, no file left behind."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_trickle import Mode
from tests.engine.capture.folders import Folder, Lake
from tests.engine.test_crashes import POINTS, die, rows_of_state

SCHEMA = pa.schema([("id", pa.int64())])
HOME = "airflow_trickle.engine.capture.capture"
CAPTURE_POINTS = {
    "after the write": ("airflow_trickle.engine.capture.by_files", "_write_apart", "after"),
    "before staging": (HOME, "stage", "before"),
    "just before the commit": (HOME, "commit", "before"),
    "just after the commit": (HOME, "commit", "after"),
}


@pytest.mark.parametrize("point", CAPTURE_POINTS)
def test_a_capture_that_was_killed_is_made_good_by_the_next(
    lake: Lake, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(POINTS, point, CAPTURE_POINTS[point])
    folder = Folder(lake.data / "s", "parquet", SCHEMA)
    folder.put("a.parquet", [{"id": 1}, {"id": 1}])
    lake.define_captured({"s": f"path: {folder.path}\nformat: parquet"}, {"copy": "SELECT * FROM s"})
    if point in ("before staging", "just after the commit"):
        die(lake, point)  # on the very first capture
    lake.tick()
    assert lake.rows("s") == lake.rows("copy") == folder.rows
    folder.put("a.parquet", [{"id": 1}])
    folder.put("b.parquet", [{"id": 2}, {"id": None}])
    before = lake.snapshots("s")
    die(lake, point)  # and on a later one
    committed = point == "just after the commit"
    assert lake.snapshots("s") == before + committed
    results = lake.tick()
    assert results["s"].mode is (Mode.NO_DATA if committed else Mode.DIFFERENTIAL)
    assert lake.snapshots("s") == before + 1
    assert lake.rows("s") == lake.rows("copy") == folder.rows
    assert rows_of_state(lake, "trickle_staging") == rows_of_state(lake, "trickle_leases") == 0
    assert _stray_files(lake) == set()
    assert lake.tick()["s"].mode is Mode.NO_DATA


def _stray_files(lake: Lake) -> set[str]:
    """Files of the mirror that no snapshot refers to."""
    table = lake.mirror("s")
    live = {table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)}
    for snapshot in table.metadata.snapshots:
        assert snapshot.summary is not None
        live |= {snapshot.manifest_list, snapshot.summary.additional_properties["trickle.capture-state"]}
        for manifest in snapshot.manifests(table.io):
            live.add(manifest.manifest_path)
            entries = manifest.fetch_manifest_entry(table.io, discard_deleted=False)
            live |= {entry.data_file.file_path for entry in entries}
    known = {path.removeprefix("file://").removeprefix(f"{lake.folder}/") for path in live}
    here = table.location().removeprefix("file://").removeprefix(f"{lake.folder}/")
    files = {name for name in lake.files() if (lake.folder / name).is_file() and name.startswith(here)}
    return {name for name in files - known if not name.endswith(".crc")}
