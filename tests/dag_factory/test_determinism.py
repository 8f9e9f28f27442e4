"""The same folder always gives the same DAG: Airflow makes a new version of every difference."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Two processes that import Airflow.
pytestmark = pytest.mark.slow

_SERIALIZE = """
import json, sys
from airflow_trickle.dag_factory import build_dags
from airflow.serialization.serialized_objects import DagSerialization
from airflow.models.serialized_dag import SerializedDagModel

for dag in build_dags(sys.argv[1], {}):
    data = DagSerialization.to_dict(dag)
    print(SerializedDagModel.hash(data))
    print(json.dumps(data, sort_keys=True))  # only lists have an order that counts, as in the hash
"""


def serialized(folder: Path, home: Path, seed: str) -> bytes:
    env = {**os.environ, "AIRFLOW_HOME": str(home), "PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, "-c", _SERIALIZE, str(folder)], env=env, check=True, capture_output=True
    ).stdout


def test_two_processes_serialize_the_same_bytes(tmp_path: Path) -> None:
    # As many tags, inputs and tasks as it takes for an unsorted set to show.
    tables = "\n".join(f"  t{i}:\n    query: SELECT * FROM s{i % 7}, s{(i * 3) % 5}" for i in range(1, 40))
    reads = "\n".join(f"  u{i}:\n    query: SELECT 1 FROM t{i}, t{i + 1}, t{i + 2}" for i in range(1, 30))
    folder = tmp_path / "dags"
    folder.mkdir()
    (folder / "many.yaml").write_text(
        "pipeline: many\ntags: [x, y, z, a, b]\ndiamond_consistency: none\n"
        f"sources: [{', '.join(f's{i}' for i in range(7))}]\nstream_tables:\n{tables}\n{reads}\n"
    )
    (folder / "bad.yaml").write_text("pipeline: bad\nstream_tables: {}\n")

    first = serialized(folder, tmp_path / "home", "1")

    assert first.count(b"\n") == 4
    assert serialized(folder, tmp_path / "home", "2") == first
