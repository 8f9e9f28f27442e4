"""Joins of Arrow tables by variables: with plain Python as the judge."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from airflow_trickle.engine.fixpoint import joins
from airflow_trickle.tuning import Tuning
from tests.conftest import Tuned

Pairs = list[tuple[int, int]]


def table(rows: Pairs, *names: str) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [[] for _ in names]
    return pa.table({name: pa.array(values, pa.int64()) for name, values in zip(names, columns, strict=True)})


def rows(found: pa.Table) -> list[tuple[int, ...]]:
    return sorted(tuple(row.values()) for row in found.to_pylist())


def pairs(chance: Random, most: int) -> Pairs:
    return [(chance.randrange(6), chance.randrange(6)) for _ in range(chance.randrange(most))]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("at_once", [Tuning().arrow_join_slice_rows, 3], ids=["whole", "in slices"])
def test_three_tables_are_joined_by_the_variables_they_share(seed: int, at_once: int, tuned: Tuned) -> None:
    tuned(arrow_join_slice_rows=at_once)
    chance = Random(seed)
    one, two, three = (pairs(chance, 12) for _ in range(3))
    found = joins.joined([table(one, "v0", "v1"), table(two, "v1", "v2"), table(three, "v2", "v3")], ["v0", "v3"])
    wanted = {(a, f) for a, b in one for c, d in two for e, f in three if b == c and d == e}
    assert found.column_names == ["v0", "v3"]
    assert set(rows(found)) == wanted


def test_too_many_different_rows_behind_a_join_are_refused(tuned: Tuned) -> None:
    tuned(arrow_join_slice_rows=4, arrow_join_rows=10)
    one, other = [(n, 0) for n in range(6)], [(0, n) for n in range(6)]
    with pytest.raises(joins.NotNear):
        joins.joined([table(one, "v0", "v1"), table(other, "v1", "v2")], ["v0", "v2"])


def test_a_variable_that_stands_twice_has_to_be_equal() -> None:
    found = joins.named(table([(1, 1), (1, 2), (3, 3)], "a", "b"), [(0, 7), (1, 7)], "b")
    assert (found.column_names, rows(found)) == (["v7", "b"], [(1, 1), (3, 3)])


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_kept_or_left_out_by_their_keys(seed: int) -> None:
    chance = Random(seed)
    some, others = pairs(chance, 12), pairs(chance, 12)
    keys = {a for a, _ in others}
    left, right = table(some, "a", "b"), table(others, "a", "b")
    assert rows(joins.among(left, right, ["a"])) == sorted(row for row in some if row[0] in keys)
    assert rows(joins.without(left, right, ["a"])) == sorted(row for row in some if row[0] not in keys)
    assert rows(joins.distinct(left)) == sorted(set(some))
