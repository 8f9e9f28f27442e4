"""The task that brings a unit of stream tables up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_trickle.errors import RefreshFailed
from airflow_trickle.operators.failures import told_in_words
from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.tick import Tick

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.results import TableResult
    from airflow_trickle.spark.session import SparkProvider


class RefreshOperator(BaseOperator):
    """Refreshes the tables of one step from what the tick has pinned, and publishes them together.

    Args:
        step: what to refresh, from the plan.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs.
        pin_task_id: the task whose XCom is the tick.
    """

    ui_color = "#e6f4ea"

    def __init__(
        self, *, step: RefreshStep, catalog: str, spark_conn_id: str, pin_task_id: str = "pin", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.catalog = catalog
        self.spark_conn_id = spark_conn_id
        self.pin_task_id = pin_task_id
        self._spark: SparkProvider | None = None

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Refresh, and return what became of each table."""
        from airflow_trickle.hooks.spark import TrickleSparkHook
        from airflow_trickle.lakehouse.catalog import open_lakehouse
        from airflow_trickle.operators.submitting import spark_at

        with told_in_words(pipeline=self.dag_id, cap=self.step.max_iterations):
            tick = self._tick(context)
            target = TrickleSparkHook(self.spark_conn_id).get_conn()
            with open_lakehouse(self.catalog) as lake, spark_at(target, self.spark_conn_id) as spark:
                self._spark = spark
                full = bool(context["params"].get("full_refresh", False))
                results = self._refreshed(context, lake, tick, spark, full)
        return [result.model_dump(mode="json") for result in results]

    def _refreshed(
        self, context: Context, lake: Lakehouse, tick: Tick, spark: SparkProvider, full: bool
    ) -> tuple[TableResult, ...]:
        from airflow_trickle.operators.submitting import refreshed

        return refreshed(lake, self.step, tick, spark, full)

    def _tick(self, context: Context) -> Tick:
        pinned = context["ti"].xcom_pull(task_ids=self.pin_task_id)
        if not pinned:
            raise RefreshFailed(f"Task '{self.pin_task_id}' of this run left no tick behind. Clear it to run it again.")
        return Tick.model_validate(pinned)

    def on_kill(self) -> None:
        """Stop the work on Spark: without its client it would go on and starve the next one."""
        if self._spark is not None:
            self._spark.interrupt()
