"""How the steps of a plan become tasks: ids, groups, assets, and what Airflow is told of each.

Override what should be otherwise, and hand it to the DAG factory:

    class Ours(Translator):
        def task_options(self, plan, step):
            return {**super().task_options(plan, step), "pool": "spark"}

    build_dags(Path(__file__).parent, globals(), translator=Ours())
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from airflow_trickle.plan.steps import CaptureStep, Plan, RefreshStep, TaskOptions

_NOT_IN_AN_ID = re.compile(r"[^\w.-]", re.ASCII)
#: What Airflow allows, with some room for a number behind it.
_LONGEST_ID = 200


def task_id_of(name: str) -> str:
    """A text as the id of a task: of what Airflow allows there.

    >>> task_id_of("umsätze netto")
    'ums_tze_netto'
    """
    return _NOT_IN_AN_ID.sub("_", name)[:_LONGEST_ID]


class Translator:
    """Names and options of the tasks of a pipeline; ids that are taken get a number behind them."""

    def task_id(self, plan: Plan, step: RefreshStep) -> str:
        """The task of a unit: the table's name, or the cycle's; inside of a group too."""
        return task_id_of(step.unit)

    def group_id(self, plan: Plan, step: RefreshStep) -> str:
        """The task group of an atomic group."""
        return task_id_of(step.unit)

    def stratum_group_id(self, plan: Plan, stratum: int) -> str:
        """The task group of a stratum, where there are several."""
        return f"stratum_{stratum}"

    def sensor_id(self, plan: Plan, stratum: int) -> str:
        """The task that passes over a stratum."""
        return f"skip_stratum_{stratum}"

    def capture_id(self, plan: Plan, step: CaptureStep) -> str:
        """The task that captures a source."""
        return task_id_of(f"capture_{step.name}")

    def asset_uri(self, plan: Plan, identifier: str) -> str | None:
        """The asset of a table of the catalog, or of a source; None: it has none.

        >>> from types import SimpleNamespace
        >>> Translator().asset_uri(SimpleNamespace(catalog="trickle"), "sales.eu.orders")
        'iceberg://trickle/sales.eu/orders'
        """
        namespace, _, table = identifier.rpartition(".")
        return f"iceberg://{plan.catalog}/{namespace}/{table}"

    def task_options(self, plan: Plan, step: RefreshStep) -> dict[str, Any]:
        """What Airflow is told of the task of a unit: pool, queue, retries and the like.

        Of the tables of a cycle, the one that asks for most decides.
        """
        found: dict[str, Any] = {}
        for table in step.tables:
            for key, value in options_of(table.task).items():
                found[key] = max(found[key], value) if key in _THE_MOST and key in found else found.get(key, value)
        return found


#: Options of which a unit takes the largest of its tables'.
_THE_MOST = frozenset({"retries", "retry_delay", "execution_timeout", "priority_weight", "pool_slots"})


def options_of(task: TaskOptions) -> dict[str, Any]:
    """The options of a table as arguments of an operator; what is not said is left to Airflow."""
    said = task.model_dump(exclude_none=True, exclude={"executor_config"})
    for key in ("retry_delay", "execution_timeout"):
        if key in said:
            said[key] = timedelta(seconds=said[key])
    if task.executor_config:
        said["executor_config"] = dict(task.executor_config)
    return said
