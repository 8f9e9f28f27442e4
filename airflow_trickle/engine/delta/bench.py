"""Where the parts of a change are computed: on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.delta.context import Column
from airflow_trickle.engine.inputs import create_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkBench:
    """Computes parts of a change on Spark; what it made is in ``views`` and is to be dropped at the end."""

    def __init__(
        self, spark: SparkSession, views: list[str], note: Callable[[str, str, str], None] = lambda *_: None
    ) -> None:
        self._spark = spark
        self._views = views
        self._note = note

    def view(self, sql: str, about: str) -> str:
        """Names a query; nothing is computed."""
        with _understood():
            name = create_view(self._spark.sql(sql))
        self._views.append(name)
        self._note(name, about, sql)
        return name

    def keep(self, sql: str, about: str) -> str | None:
        """Computes a query once and names the result; None if it has no rows."""
        with _understood():
            frame = self._spark.sql(sql).localCheckpoint(eager=True)
        empty = frame.isEmpty()
        name = create_view(frame)
        self._views.append(name)
        self._note(name, about, sql)
        return None if empty else name

    def columns(self, sql: str) -> list[Column]:
        """The columns of a query's result."""
        with _understood():
            fields = self._spark.sql(sql).schema.fields
        return [Column(field.name, field.dataType.simpleString()) for field in fields]

    def frame(self, sql: str) -> DataFrame:
        """The result of a query."""
        with _understood():
            frame = self._spark.sql(sql)
            _ = frame.schema
        return frame

    def resolves(self, sql: str) -> bool:
        """Whether Spark accepts a query."""
        from pyspark.errors import AnalysisException

        try:
            _ = self._spark.sql(sql).schema
        except AnalysisException:
            return False
        return True


@contextmanager
def _understood() -> Iterator[None]:
    """What Spark does not accept was made by us: the user's query was accepted before."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        raise NotInBlocks(f"Spark does not take a part of it by itself ({error.getCondition()})") from error
