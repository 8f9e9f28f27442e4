"""Growth over whole ticks: one appended row and one tick at a time, with Spark and with maintenance every so often.

``TRICKLE_BENCH_TICKS`` is how many (500). Each tick is a row more in a source, a pin, and two refreshes from changes; a
maintenance comes every 25 ticks. The source is expired by its owner, as anybody's is. With ``TRICKLE_BENCH_FOLDER`` the
tables are kept there, and a later run goes on from where this one stopped.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable

from airflow_trickle import Pipeline
from airflow_trickle.spark import embedded
from airflow_trickle.tuning import tuned

EVERY = 25
_POINTS = (25, 50, 100, 200, 300, 400, 500)
_GROUPS = 7
#: Snapshots that the owner of the source keeps.
_KEPT_OF_SOURCE = 30
_PIPELINE = """
pipeline: ticks
sources: [events]
maintenance:
  keep_snapshots: 20
  restate_window: 1s
  keep_history: 1000
stream_tables:
  odd:
    refresh_mode: DIFFERENTIAL
    query: SELECT id, k, v FROM events WHERE v % 2 = 1
  totals:
    refresh_mode: DIFFERENTIAL
    query: SELECT k, count(*) AS n, sum(v) AS s FROM events GROUP BY k
"""


@dataclass
class Run:
    """What was measured since the last point."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    upkeep: float = 0.0
    modes: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Print size, seconds and memory at some numbers of ticks."""
    folder = os.environ.get("TRICKLE_BENCH_FOLDER") or tempfile.mkdtemp(prefix="trickle-bench-")
    try:
        _measured(Path(folder), int(os.environ.get("TRICKLE_BENCH_TICKS", "500")))
    finally:
        embedded.stop()
        if not os.environ.get("TRICKLE_BENCH_FOLDER"):
            shutil.rmtree(folder, ignore_errors=True)


def _measured(folder: Path, ticks: int) -> None:
    uri, warehouse = f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse"
    os.environ["PYICEBERG_CATALOG__TRICKLE__URI"] = uri
    os.environ["PYICEBERG_CATALOG__TRICKLE__WAREHOUSE"] = warehouse
    os.environ.setdefault("TRICKLE_HOME", f"{folder}/home")
    catalog = SqlCatalog("trickle", uri=uri, warehouse=warehouse)
    catalog.create_namespace_if_not_exists("default")
    source = catalog.create_table_if_not_exists("default.events", schema=_rows(0).schema)
    done = len(source.scan().to_arrow())
    yaml = folder / "ticks.yaml"
    yaml.write_text(_PIPELINE)
    pipeline = Pipeline.load(yaml)
    run = Run()
    for number in range(done + 1, done + ticks + 1):
        _source_changes(catalog, number)
        _one_tick(pipeline, run)
        if number % EVERY == 0:
            with tuned(maintenance_grace_seconds=0):
                run.upkeep = pipeline.maintain().seconds
        if number in _POINTS or number == done + ticks:
            _report(folder, catalog, number, run)
            run = Run()


def _rows(number: int) -> pa.Table:
    return pa.table({name: pa.array([value], pa.int64()) for name, value in _row(number).items()})


def _row(number: int) -> dict[str, int]:
    return {"id": number, "k": number % _GROUPS, "v": number * 3}


def _source_changes(catalog: SqlCatalog, number: int) -> None:
    source = catalog.load_table("default.events")
    source.append(_rows(number))
    if number % EVERY == 0:
        old = sorted(source.metadata.snapshots, key=lambda one: one.sequence_number or 0)[:-_KEPT_OF_SOURCE]
        if old:
            source.maintenance.expire_snapshots().by_ids([one.snapshot_id for one in old]).commit()


def _cpu() -> float:
    """Seconds of CPU of this process and of the Spark server."""
    server = embedded.running_state()
    own = resource.getrusage(resource.RUSAGE_SELF)
    seconds = own.ru_utime + own.ru_stime
    if server is not None:
        used = psutil.Process(server.pid).cpu_times()
        seconds += used.user + used.system
    return seconds


def _one_tick(pipeline: Pipeline, run: Run) -> None:
    cpu, began = _cpu(), time.perf_counter()
    for result in pipeline.tick().values():
        run.modes[str(result.mode)] += 1
    run.wall.append(time.perf_counter() - began)
    run.cpu.append(_cpu() - cpu)


def _report(folder: Path, catalog: SqlCatalog, number: int, run: Run) -> None:
    rows = [_row(n) for n in range(1, number + 1)]
    odd = [row for row in rows if row["v"] % 2]
    groups = {k: [row["v"] for row in rows if row["k"] == k] for k in {row["k"] for row in rows}}
    totals = [{"k": k, "n": len(values), "s": sum(values)} for k, values in sorted(groups.items())]
    if _held(catalog, "odd", "id") != odd or _held(catalog, "totals", "k") != totals:
        raise AssertionError(f"wrong rows after {number} ticks")
    server = embedded.running_state()
    memory = psutil.Process(server.pid).memory_info().rss / 1e6 if server is not None else 0
    print(
        f"{number} ticks: {_sizes(folder, catalog)}, {statistics.median(run.wall) * 1000:.0f} ms a tick, "
        f"{statistics.median(run.cpu) * 1000:.0f} ms of CPU with Spark's (medians of {len(run.wall)}), "
        f"maintenance {run.upkeep:.1f} s, RSS {psutil.Process().memory_info().rss / 1e6:.0f} MB, "
        f"Spark server {memory:.0f} MB, {', '.join(f'{n} {mode}' for mode, n in run.modes.most_common())}",
        flush=True,
    )


def _held(catalog: SqlCatalog, name: str, key: str) -> list[dict[str, int]]:
    rows: list[dict[str, int]] = catalog.load_table(f"default.{name}").scan().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row[key])


def _sizes(folder: Path, catalog: SqlCatalog) -> str:
    """What the stream tables and the database take; the source is its owner's."""
    files = [
        path
        for path in (folder / "warehouse").rglob("*")
        if path.is_file() and "/default/events/" not in path.as_posix()
    ]
    location = catalog.load_table("default.totals").metadata_location
    totals = StaticTable.from_metadata(location)
    return (
        f"{sum(path.stat().st_size for path in files) / 1e6:.2f} MB in {len(files)} files, "
        f"database {os.path.getsize(folder / 'catalog.db') / 1e3:.0f} KB, "
        f"{len(totals.metadata.snapshots)} snapshots, "
        f"metadata.json {os.path.getsize(location.removeprefix('file://')) / 1e3:.0f} KB"
    )
