from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.engine.world import World

ROOT = Path(__file__).parents[2]
SUBMIT = Path(sys.executable).with_name("spark-submit")


def submit(world: World, *options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PYICEBERG_CATALOG__TRICKLE__URI": world.uri,
        "PYICEBERG_CATALOG__TRICKLE__WAREHOUSE": world.warehouse,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    environment.pop("SPARK_CONNECT_MODE_ENABLED", None)
    script = str(ROOT / "spark_jobs" / "tick.py")
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        # Code is generated as by default, which the other tests do without.
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    options_of_spark = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    return subprocess.run(
        [str(SUBMIT), "--master", "local[2]", *options_of_spark, script, "--pipeline", str(world.yaml), *options],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.spark
@pytest.mark.timeout(400)
def test_a_submitted_tick_refreshes_the_tables_on_a_plain_spark_driver(tmp_path: Path) -> None:
    world = World(tmp_path, f"sqlite:///{tmp_path}/catalog.db")
    world.source("t", pa.schema([("id", pa.int64())]), [{"id": 1}, {"id": 2}, {"id": 2}])
    world.define({"s": "SELECT id, COUNT(*) AS n FROM t GROUP BY id"})
    first = submit(world)
    assert first.returncode == 0, first.stderr
    assert "s: FULL, +2 -0: first refresh" in first.stdout
    world.append("t", {"id": 1})
    world.delete("t", "id = 2")
    second = submit(world)
    assert "s: FULL, +1 -2: t changed" in second.stdout, second.stdout + second.stderr
    assert world.rows("s") == {(1, 2): 1}
    world.define({"s": "SELECT nope FROM t"})
    third = submit(world)
    assert third.returncode == 1
    assert "stream table 's' was not refreshed: Spark does not accept its query" in third.stdout + third.stderr
