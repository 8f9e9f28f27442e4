"""The eight tables of TPC-H, as the package ``tpchgen-cli`` makes them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
QUERIES = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "queries").glob("q*.sql"))}


def generated(folder: Path, scale: float) -> dict[str, pa.Table]:
    """All tables at one scale; ``folder`` holds the generator's files for a moment."""
    command = Path(sys.executable).parent / "tpchgen-cli"
    subprocess.run(
        [command, "parquet", "-s", str(scale), "-o", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    tables = {name: _plain(pq.read_table(folder / f"{name}.parquet")) for name in TABLES}
    shutil.rmtree(folder)
    return tables


def _plain(table: pa.Table) -> pa.Table:
    """Without string views, which Iceberg's writers do not know; every column may be NULL."""
    fields = [pa.field(f.name, pa.string() if "string" in str(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))
