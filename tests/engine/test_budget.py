"""What fits into the worker process: rows with their copies, and bytes, counted while they arrive."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from airflow_trickle.engine.budget import Meter, widest_row
from airflow_trickle.engine.zset import WEIGHT
from tests import budgets

MANY = 10**9


def batch(words: list[str | None], weights: list[int] | None = None) -> pa.RecordBatch:
    columns = {"k": pa.array(range(len(words)), pa.int64()), "w": pa.array(words, pa.string())}
    if weights is not None:
        columns[WEIGHT] = pa.array(weights, pa.int64())
    return pa.RecordBatch.from_pydict(columns)


def test_rows_fit_up_to_the_bound_and_not_one_more() -> None:
    meter = Meter(5, MANY)
    assert meter.takes(batch(["a"] * 3))
    assert meter.takes(batch(["a"] * 2))
    assert not meter.takes(batch(["a"]))
    assert meter.excess == "more than 5 rows"


def test_bytes_fit_up_to_the_bound_and_not_one_more() -> None:
    rows = batch(["abc"] * 7)
    assert Meter(MANY, rows.nbytes).takes(rows)
    assert not Meter(MANY, rows.nbytes - 1).takes(rows)
    both = Meter(MANY, 2 * rows.nbytes - 1)
    assert [both.takes(rows), both.takes(rows)] == [True, False]
    assert both.excess == "more than 0.0 MiB"


@pytest.mark.parametrize("weight", [3, -3])
def test_a_row_counts_as_often_as_it_comes_or_goes(weight: int) -> None:
    rows = batch(["a", "b"], [weight, 1])
    assert Meter(4, MANY, WEIGHT).takes(rows)
    assert not Meter(3, MANY, WEIGHT).takes(rows)


def test_one_wide_row_that_comes_often_is_as_large_as_its_copies() -> None:
    rows = batch(["x" * 1000], [1_000])
    meter = Meter(MANY, 999_999, WEIGHT)
    assert rows.nbytes < 2_000
    assert not meter.takes(rows)
    assert meter.bytes >= 1_000_000


def test_what_is_counted_is_what_the_copies_take() -> None:
    """Within the bytes that Arrow needs for offsets and for which values are NULL."""
    chance = budgets.chance("copies")
    for _ in range(budgets.rounds(30)):
        words = [chance.choice([None, "", "x" * chance.randint(0, 300)]) for _ in range(chance.randint(1, 20))]
        weights = [chance.choice([-1, 1]) * chance.randint(1, 50) for _ in words]
        rows = batch(words, weights)
        meter = Meter(MANY, MANY, WEIGHT)
        meter.takes(rows)
        numbers = [number for number, weight in enumerate(weights) for _ in range(abs(weight))]
        copied = rows.drop_columns([WEIGHT]).take(pa.array(numbers)).nbytes + rows[WEIGHT].nbytes
        assert meter.rows == len(numbers)
        assert abs(meter.bytes - copied) <= len(numbers) // 4 + 64


def test_nothing_counts_nothing() -> None:
    meter = Meter(0, MANY, WEIGHT)
    assert meter.takes(batch([], []))
    assert meter.rows == 0
    assert not Meter(-1, MANY).fits


def test_the_widest_row_is_at_least_as_wide_as_every_row() -> None:
    chance = random.Random(4)
    words = ["x" * chance.randint(0, 100) for _ in range(50)]
    table = pa.table({"k": pa.array(range(50), pa.int64()), "w": words, "b": pa.array([True] * 50)})
    assert widest_row(table) == 8 + (max(map(len, words)) + 4) + 1
    assert widest_row(table, table) == 2 * widest_row(table)
    assert widest_row(table.slice(0, 0)) == 8 + 1
