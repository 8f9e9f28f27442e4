"""What does not fit is told, with where it stands, and nothing is published."""

from __future__ import annotations

import re

import pytest

from airflow_trickle.errors import TrickleError
from tests import budgets
from tests.engine.partitions.layouts import COPY, PLAIN, ROWS, plain, row
from tests.engine.world import World


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"partition_by": "[nope]"},
            "partition_by: its result has no column 'nope'. It has: k, i, s, v, d, t, n, b, f.",
        ),
        ({"cluster_by": "[nope]"}, "cluster_by: its result has no column 'nope'. It has: k, i, s, v, d, t, n, b, f."),
        ({"partition_by": "[f]"}, "column 'f' has type double, but a column itself takes booleans, whole numbers,"),
        ({"partition_by": '["days(s)"]'}, "column 's' has type string, but days(s) takes dates and timestamps. CAST"),
        ({"partition_by": '["hours(d)"]'}, "column 'd' has type date, but hours(d) takes timestamps. CAST"),
        ({"partition_by": '["truncate(2, b)"]'}, "column 'b' has type boolean, but truncate(2, b) takes whole numbers"),
    ],
)
def test_columns_that_do_not_fit_are_named(world: World, options: dict[str, str], message: str) -> None:
    world.source("rows", ROWS, [row(budgets.chance(1))])
    world.define({"copied": COPY}, copied=options)
    with pytest.raises(TrickleError, match=re.escape(message)) as told:
        world.tick()
    assert f"{world.yaml}:5:3: stream table 'copied': " in str(told.value)
    assert not world.outside.table_exists("default.copied")


def test_a_partition_column_that_goes_from_the_result_is_told_and_nothing_changes(world: World) -> None:
    world.source("rows", PLAIN, [plain(1, "a")])
    world.define({"copied": "SELECT * FROM rows"}, copied={"partition_by": "[g]"})
    world.tick()
    world.define({"copied": "SELECT k, d FROM rows"}, copied={"partition_by": "[g]"})
    with pytest.raises(TrickleError, match="is or was parted by column 'g', which is gone from its result"):
        world.tick()
    assert world.rows("copied") == world.judge("SELECT * FROM rows")


def test_a_value_without_a_partition_is_told(world: World) -> None:
    world.source("rows", PLAIN, [plain(-(2**63), "a")])
    world.define({"copied": "SELECT * FROM rows"}, copied={"partition_by": '["truncate(10, k)"]'})
    with pytest.raises(TrickleError, match="whose partition is beyond what its type long holds"):
        world.tick()
