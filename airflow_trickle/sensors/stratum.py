"""The task that passes over a stratum none of whose tables has anything to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue
from airflow.sdk.exceptions import AirflowSkipException

from airflow_trickle.operators.failures import told_in_words
from airflow_trickle.operators.skipping import Watched, end_skipping, failed_of, look_of, pass_over
from airflow_trickle.tick import Tick

if TYPE_CHECKING:
    from airflow.sdk import Context


class StratumSkipSensor(BaseSensorOperator):
    """Looks, once what a stratum reads is done, whether its tables have anything to do; if not, they are skipped.

    It never waits: the strata below are done when it runs, so that metadata alone tells. A table with a source that
    moved, with an input that changed, or that failed the last time is never skipped.

    Args:
        stratum: the number of the stratum.
        watched: its units and their tasks.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs; it is not used.
        pin_task_id: the task whose XCom is the tick.
        captures: by identifier, the tasks that capture sources.
    """

    ui_color = "#f3e8f7"

    def __init__(
        self,
        *,
        stratum: int,
        watched: Sequence[Watched],
        catalog: str,
        spark_conn_id: str,
        pin_task_id: str = "pin",
        captures: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.stratum = stratum
        self.watched = tuple(watched)
        self.catalog = catalog
        self.spark_conn_id = spark_conn_id
        self.pin_task_id = pin_task_id
        self.captures = dict(captures or {})

    def poke(self, context: Context) -> PokeReturnValue:
        """Look once."""
        from airflow_trickle.hooks.spark import TrickleSparkHook
        from airflow_trickle.lakehouse.catalog import open_lakehouse
        from airflow_trickle.operators.submitting import spark_at

        pinned = context["ti"].xcom_pull(task_ids=self.pin_task_id)
        if not pinned:
            raise AirflowSkipException("nothing was pinned in this run")
        if "restated" in pinned:
            raise AirflowSkipException("this run only took the tables back")
        look = look_of(context, Tick.model_validate(pinned), self.captures)
        look = replace(look, failed=self._failed(context))
        with told_in_words():
            target = TrickleSparkHook(self.spark_conn_id).get_conn()
            with open_lakehouse(self.catalog) as lake, spark_at(target, self.spark_conn_id) as spark:
                tasks = pass_over(lake, self.watched, {}, look, spark)
        return PokeReturnValue(is_done=True, xcom_value=end_skipping(context, sorted(tasks), tasks))

    def _failed(self, context: Context) -> frozenset[str]:
        """The tasks below this stratum that failed, or could not run because of others."""
        return frozenset(failed_of(context, self.dag_id, {task for one in self.watched for task in one.below}))
