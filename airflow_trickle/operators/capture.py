"""The task that captures a source which is no Iceberg table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowSkipException

from airflow_trickle.operators.failures import told_in_words
from airflow_trickle.operators.pin import interval_of, tick_id
from airflow_trickle.operators.skipping import RETURNED
from airflow_trickle.plan.steps import CaptureStep

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_trickle.spark.session import SparkProvider


class CaptureOperator(BaseOperator):
    """Brings the mirror of a source to the source's present state, before the tick is pinned.

    Args:
        step: what to capture, from the plan.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs; it is not used when no file has changed.
    """

    ui_color = "#fdf3e0"

    def __init__(self, *, step: CaptureStep, catalog: str, spark_conn_id: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.catalog = catalog
        self.spark_conn_id = spark_conn_id
        self._spark: SparkProvider | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Capture, and return what became of the source; a run that reads the past captures nothing."""
        if interval_of(context)[0] == "backfill" or (context.get("params") or {}).get("restate"):
            context["ti"].xcom_push(key=RETURNED, value={})
            raise AirflowSkipException("this run reads what was captured before")
        from airflow_trickle.hooks.spark import TrickleSparkHook
        from airflow_trickle.lakehouse.catalog import open_lakehouse
        from airflow_trickle.operators.submitting import captured, spark_at

        with told_in_words():
            target = TrickleSparkHook(self.spark_conn_id).get_conn()
            with open_lakehouse(self.catalog) as lake, spark_at(target, self.spark_conn_id) as spark:
                self._spark = spark
                result = captured(lake, self.step, tick_id(self.dag_id, context["run_id"]), spark)
        return result.model_dump(mode="json")

    def on_kill(self) -> None:
        """Stop the work on Spark: without its client it would go on and starve the next one."""
        if self._spark is not None:
            self._spark.interrupt()
