"""What all tasks that work on stream tables share: the tick, the lakehouse, Spark, and the end of a kill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from airflow_trickle.errors import RefreshFailed
from airflow_trickle.operators.failures import told_in_words
from airflow_trickle.operators.skipping import failed_of
from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.tick import Tick

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.results import TableResult
    from airflow_trickle.spark.session import SparkProvider


@dataclass(frozen=True)
class Opened:
    """What a task works with."""

    lake: Lakehouse
    spark: SparkProvider
    tick: Tick
    full_refresh: bool


class UnitOperator(BaseOperator):
    """A task that works on the tables of one step.

    Args:
        step: the unit, from the plan.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs.
        pin_task_id: the task whose XCom is the tick.
        assets: by table, the asset that is updated when the table changes.
    """

    def __init__(
        self,
        *,
        step: RefreshStep,
        catalog: str,
        spark_conn_id: str,
        pin_task_id: str = "pin",
        assets: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(outlets=list((assets or {}).values()), **kwargs)
        self.step = step
        self.catalog = catalog
        self.spark_conn_id = spark_conn_id
        self.pin_task_id = pin_task_id
        self.assets = dict(assets or {})
        #: Tasks without which this one does not go on, also if its trigger rule lets it go on without others.
        self.needs: tuple[str, ...] = ()
        self._spark: SparkProvider | None = None

    @contextmanager
    def opened(self, context: Context) -> Iterator[Opened]:
        """The lakehouse and Spark, for the length of a block; an error of ours ends the task in its own words."""
        from airflow_trickle.hooks.spark import TrickleSparkHook
        from airflow_trickle.lakehouse.catalog import open_lakehouse
        from airflow_trickle.operators.submitting import spark_at

        if failed := failed_of(context, self.dag_id, self.needs):
            raise AirflowFailException(f"Nothing was refreshed: {', '.join(failed)} failed in this run.")
        with told_in_words(pipeline=self.dag_id, cap=self.step.max_iterations):
            tick = self._tick(context)
            target = TrickleSparkHook(self.spark_conn_id).get_conn()
            with open_lakehouse(self.catalog) as lake, spark_at(target, self.spark_conn_id) as spark:
                self._spark = spark
                yield Opened(lake, spark, tick, bool(context["params"].get("full_refresh", False)))

    def _tick(self, context: Context) -> Tick:
        pinned = context["ti"].xcom_pull(task_ids=self.pin_task_id)
        if not pinned:
            raise RefreshFailed(f"Task '{self.pin_task_id}' of this run left no tick behind. Clear it to run it again.")
        if "restated" in pinned:
            raise RefreshFailed("This run only took the tables back. Run or backfill the ticks after that moment.")
        return Tick.model_validate(pinned)

    def update_assets(self, context: Context, results: Sequence[TableResult]) -> None:
        """Have Airflow update the assets of the tables that changed, and of no other."""
        changed = {result.table: result for result in results if result.changed and result.table in self.assets}
        # Airflow updates every outlet of a task that succeeds.
        self.outlets = [self.assets[name] for name in changed]
        if "task" in context:
            context["task"].outlets = self.outlets
        for name, result in changed.items():
            context["outlet_events"][self.assets[name]].extra = {
                "table": name,
                "rows_inserted": result.rows_inserted,
                "rows_deleted": result.rows_deleted,
                "epoch": result.epoch,
                "snapshot_id": result.snapshot_id,
            }

    def on_kill(self) -> None:
        """Stop the work on Spark: without its client it would go on and starve the next one."""
        if self._spark is not None:
            self._spark.interrupt()
