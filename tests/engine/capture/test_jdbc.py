"""A real database by JDBC: Derby, whose driver comes with Spark."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from airflow_trickle import Mode, TrickleError
from airflow_trickle.spark.active import activated
from tests.engine.capture.folders import SPARK, Lake

DDL = "id INT, name STRING, price DECIMAL(10,2), at TIMESTAMP"
Row = tuple[int | None, str | None, Decimal | None, dt.datetime]


class Database:
    def __init__(self, lake: Lake) -> None:
        self.options = {"url": f"jdbc:derby:{lake.folder}/db;create=true", "dbtable": "app.prices"}

    def write(self, rows: list[Row], mode: str = "overwrite") -> None:
        with activated(SPARK.session):
            frame = SPARK.session.createDataFrame(rows, DDL)
            frame.coalesce(1).write.format("jdbc").options(**self.options).mode(mode).save()

    @property
    def source(self) -> str:
        lines = [f"  {key}: {value}" for key, value in self.options.items()]
        return "\n".join(["format: jdbc", "options:", *lines, "  user: me", "  password: ${DERBY_PASSWORD}"])


def moment(second: int, micros: int = 0) -> dt.datetime:
    return dt.datetime(2026, 1, 1, 0, 0, second, micros)


def bag_of(rows: list[Row]) -> Counter[tuple[Any, ...]]:
    return Counter((id, name, price, at.replace(tzinfo=dt.timezone.utc)) for id, name, price, at in rows)


@pytest.fixture
def database(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setenv("DERBY_PASSWORD", "geheim")
    return Database(lake)


def captured(lake: Lake) -> Counter[tuple[Any, ...]]:
    rows = lake.mirror("s").scan().to_arrow().to_pylist()
    return Counter(tuple(row.values()) for row in rows)


def test_a_table_is_compared_as_a_bag(lake: Lake, database: Database) -> None:
    lake.define_captured({"s": database.source}, {"copy": "SELECT * FROM s"})
    first: list[Row] = [(1, "a", Decimal("1.50"), moment(1))] * 2 + [(None, None, None, moment(2, 5))]
    database.write(first)
    assert lake.capture().rows_inserted == 3
    assert captured(lake) == bag_of(first)
    assert (lake.capture().changed, lake.snapshots("s")) == (False, 1)
    second = [first[0], first[2], (2, "é'", Decimal("-0.01"), moment(3))]
    database.write(second)
    result = lake.capture()
    assert (result.mode, result.rows_inserted, result.rows_deleted) == (Mode.FULL, 1, 1)
    assert captured(lake) == bag_of(second)


def test_a_log_is_read_from_its_watermark_on(lake: Lake, database: Database) -> None:
    source = f"{database.source}\ncapture: append_only\nwatermark: at"
    lake.define_captured({"s": source}, {"copy": "SELECT * FROM s"})
    rows: list[Row] = [(1, "a", None, moment(1)), (2, "b", None, moment(2, 1))]
    database.write(rows)
    assert lake.capture().rows_inserted == 2
    more: list[Row] = [(2, "b", None, moment(2, 1)), (3, "c", None, moment(2, 1)), (4, "d", None, moment(2, 2))]
    database.write(more, "append")
    result = lake.capture()
    assert (result.mode, result.rows_inserted) == (Mode.DIFFERENTIAL, 3)
    assert result.reason == "from at 2026-01-01 00:00:02.000001+00:00 on"
    assert captured(lake) == bag_of(rows + more)
    assert lake.capture().changed is False
    database.write(rows)
    with pytest.raises(TrickleError, match="so it is not append-only") as error:
        lake.capture()
    assert "geheim" not in str(error.value)
    assert captured(lake) == bag_of(rows + more)
