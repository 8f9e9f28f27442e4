"""One Airflow for the tests that leave it as it was: to start it and its Spark takes longer than most of them.

It ends with the last test of this folder, not with the run, which it would slow down.

Tests that kill parts of it, or need its folder for themselves, have fixtures of the same names.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.conftest import spark_defaults
from tools.stack import Stack

EXAMPLES = Path(__file__).parents[2] / "dags"
OURS = Path(__file__).parent / "dags"


@pytest.fixture(scope="package")
def dags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, and pipelines that no example would be: broken, without end, with alerts."""
    folder = tmp_path_factory.mktemp("airflow") / "dags"
    for some in (EXAMPLES, OURS):
        shutil.copytree(some, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="package")
def lake(dags: Path) -> SqlCatalog:
    """Plain pyiceberg over the catalog that the tasks use; empty."""
    home = dags.parent
    return SqlCatalog("trickle", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/warehouse")


@pytest.fixture(scope="package")
def stack(dags: Path, lake: SqlCatalog) -> Iterator[Stack]:
    home = dags.parent
    (home / "spark").mkdir()
    # It runs for minutes: to compile well takes longer than it saves.
    settings = "spark.driver.memory 2g\nspark.driver.extraJavaOptions -XX:TieredStopAtLevel=1\n"
    defaults = f"{spark_defaults()}{settings}"
    (home / "spark" / "spark-defaults.conf").write_text(defaults)
    env = {
        "TRICKLE_HOME": str(home / "trickle"),
        # Not the Spark that the other tests share: this one goes down with its Airflow.
        "TRICKLE_SPARK_HOME": str(home / "spark"),
        "PYICEBERG_CATALOG__TRICKLE__URI": lake.properties["uri"],
        "PYICEBERG_CATALOG__TRICKLE__WAREHOUSE": lake.properties["warehouse"],
    }
    stack = Stack(home / "airflow", dags, env=env)
    with stack:
        yield stack
    assert stack.processes() == []
