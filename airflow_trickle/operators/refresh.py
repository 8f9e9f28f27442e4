"""The task that brings a unit of stream tables up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_trickle.operators.base import Opened, UnitOperator
from airflow_trickle.operators.skipping import end_of

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_trickle.results import TableResult


class RefreshOperator(UnitOperator):
    """Refreshes the tables of one step from what the tick has pinned, and publishes them together.

    A unit with nothing to do shows as skipped.

    Args:
        step: what to refresh, from the plan.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs.
        pin_task_id: the task whose XCom is the tick.
        assets: by table, the asset that is updated when the table changes.
    """

    ui_color = "#e6f4ea"

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Refresh, and return what became of each table."""
        with self.opened(context) as opened:
            results = self._refreshed(context, opened)
        self.update_assets(context, results)
        return end_of(context, results)

    def _refreshed(self, context: Context, opened: Opened) -> tuple[TableResult, ...]:
        from airflow_trickle.operators.submitting import refreshed

        return refreshed(opened.lake, self.step, opened.tick, opened.spark, opened.full_refresh)
