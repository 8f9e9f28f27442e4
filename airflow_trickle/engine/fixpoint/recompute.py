"""What the tables of a unit should hold: computed from nothing, every pass in full, without rules and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.fixpoint.columns import find_columns
from airflow_trickle.engine.fixpoint.machine import NotSettled
from airflow_trickle.engine.fixpoint.naive import Naive
from airflow_trickle.engine.fixpoint.solve import Solution
from airflow_trickle.engine.fixpoint.sql import World
from airflow_trickle.engine.fixpoint.system import system_of
from airflow_trickle.engine.fixpoint.tables import TableChanges
from airflow_trickle.engine.full import Input
from airflow_trickle.engine.states import present
from airflow_trickle.errors import RefreshFailed
from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.results import Mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def recomputed(
    session: SparkSession, unit: RefreshStep, name: str, inputs: Mapping[str, Input], views: list[str]
) -> DataFrame:
    """The rows of one table of a unit at the fixed point over some inputs.

    Raises:
        RefreshFailed: it does not settle within the cap.
    """
    system = system_of(unit)
    bench = SparkBench(session, views)
    world = World(bench, {key: present(session, bench, one, lambda _: None) for key, one in inputs.items()})
    columns = find_columns(bench, system.members, world, system.keys)
    naive = Naive(bench, system.keys, system.members, columns, world, unit.max_iterations)
    try:
        naive.settle()
    except NotSettled:
        raise RefreshFailed(f"It does not settle within {unit.max_iterations} passes.") from None
    solution = Solution(system, bench, world, Mode.FULL, "", columns, tuple(naive.trace), frames=naive.frames)
    return TableChanges(solution, session).whole(name)
