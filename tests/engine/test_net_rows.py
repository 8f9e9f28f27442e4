"""What the rules of change get of a net change, and what is estimated from it; without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from airflow_trickle.engine.feed import net_rows
from airflow_trickle.engine.full import Input
from airflow_trickle.engine.net_inputs import with_net_changes, worth_netting
from airflow_trickle.engine.states import ChangedInput
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.lakehouse.changes import file_changes
from airflow_trickle.lakehouse.net_change import NetChange, forget
from airflow_trickle.lakehouse.snapshots import Version, files_of
from airflow_trickle.results import Choice, ChoiceCode
from airflow_trickle.tuning import tuned


def net(*rows: tuple[str, int]) -> NetChange:
    return NetChange(
        pa.table({"v": [value for value, _ in rows]}), pa.array([weight for _, weight in rows], pa.int64())
    )


def test_rows_that_came_and_went_have_weights() -> None:
    found = net_rows(net(("a", 2), ("b", -1)))
    assert found.to_pylist() == [{"v": "a", WEIGHT: 2}, {"v": "b", WEIGHT: -1}]


def test_rows_that_only_came_are_there_as_often_as_they_came() -> None:
    found = net_rows(net(("a", 2), ("b", 1)))
    assert found.to_pylist() == [{"v": "a", WEIGHT: 1}, {"v": "a", WEIGHT: 1}, {"v": "b", WEIGHT: 1}]
    assert found.schema.field(WEIGHT).type == pa.int64()


@pytest.fixture
def rewritten(tmp_path: Path) -> Table:
    """A table of 50 rows, from which one went by copy-on-write."""
    forget()
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("default")
    rows = pa.table({"k": pa.array(range(50), pa.int64())})
    table = catalog.create_table("default.t", schema=rows.schema)
    table.append(rows)
    table.delete("k = 7")
    return table.refresh()


def changed(table: Table) -> ChangedInput:
    # A delete that rewrites has one snapshot.
    before, after = (one.snapshot_id for one in table.metadata.snapshots)
    old, new = (Input(table, Version(one, 0), tuple(files_of(table, one).values())) for one in (before, after))
    return ChangedInput(old, new, file_changes(table, before, after))


def test_an_input_is_as_large_a_change_as_its_net_change(rewritten: Table) -> None:
    plain = changed(rewritten)
    assert (plain.rows, plain.only_grew, plain.nothing) == (99, False, False)
    (found,) = with_net_changes({"t": plain}).values()
    assert found.net is not None
    assert (found.rows, found.only_grew, found.nothing) == (1, False, False)
    assert found.size == found.net.nbytes < plain.size
    assert found.net.bytes_read == plain.size


def test_what_would_take_too_long_is_left_as_it_is(rewritten: Table) -> None:
    inputs = {"t": changed(rewritten)}
    assert with_net_changes(inputs, most_bytes=10) is inputs
    with tuned(arrow_net_bytes=10):
        assert with_net_changes(inputs) is inputs
    assert with_net_changes(inputs) is not inputs
    # Known now, so nothing has to be read.
    assert with_net_changes(inputs, most_bytes=10) is not inputs


@pytest.mark.parametrize(
    ("choice", "most"),
    [
        (Choice(code=ChoiceCode.SMALL_INPUTS, full=True), 0),
        # 14 MiB a second, for a quarter of the time.
        (Choice(code=ChoiceCode.QUICKER_IN_FULL, full=True, in_full=2.0), 7 * 1024**2),
        (Choice(code=ChoiceCode.QUICKER_FROM_CHANGES, full=False, in_full=2.0), None),
        (Choice(code=ChoiceCode.MANY_CHANGES, full=True), None),
        (Choice(code=ChoiceCode.FEW_CHANGES, full=False), None),
    ],
    ids=str,
)
def test_before_auto_chooses_only_so_much_is_compared_as_a_full_refresh_makes_worth(
    choice: Choice, most: int | None
) -> None:
    assert worth_netting(choice) == most
