from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def spark(spark_home: Path) -> Iterator[SparkSession]:
    """A session that compiles nothing: here hundreds of queries run once each, over a handful of rows."""
    from airflow_trickle.spark.session import close, connect
    from airflow_trickle.spark.target import SparkTarget

    session = connect(SparkTarget(), app="tests")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    close(session)
