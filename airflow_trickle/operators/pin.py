"""The first task of a tick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_trickle.operators.failures import told_in_words
from airflow_trickle.plan.steps import PinStep

if TYPE_CHECKING:
    from airflow.sdk import Context


class PinOperator(BaseOperator):
    """Fixes what the whole tick reads and hands it on as XCom.

    Args:
        step: what to pin, from the plan.
        catalog: name of the Iceberg catalog.
    """

    ui_color = "#e8eef7"

    def __init__(self, *, step: PinStep, catalog: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.catalog = catalog

    def execute(self, context: Context) -> dict[str, Any]:
        """Pin, and return the `Tick` as a dictionary."""
        from airflow_trickle.engine.pin import pin
        from airflow_trickle.lakehouse.catalog import open_lakehouse

        with told_in_words(), open_lakehouse(self.catalog) as lake:
            tick = pin(lake, self.step, tick_id(self.dag_id, context["run_id"]))
        return tick.model_dump(mode="json")


def tick_id(dag_id: str, run_id: str) -> str:
    """The name of a tick: every attempt and every task of one DAG run are the same tick."""
    return f"{dag_id}/{run_id}"
