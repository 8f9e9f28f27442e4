"""The task that keeps the tables of a pipeline small."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_trickle.errors import MaintenanceFailed
from airflow_trickle.operators.failures import told_in_words
from airflow_trickle.plan.steps import MaintenanceStep

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_trickle.results import MaintainedTable

log = logging.getLogger("airflow_trickle")


class MaintainOperator(BaseOperator):
    """Compacts the tables of a pipeline, expires their snapshots, removes orphan files, prunes their history.

    A table that is being refreshed is left for the next run. What was done is pushed as XCom.

    Args:
        step: what is kept, from the plan.
        catalog: name of the Iceberg catalog.
        pipeline: name of the pipeline.
        tables: its tables, by identifier.
        cluster_by: by identifier, the columns by which the rows of a table are sorted.
    """

    ui_color = "#eef3e2"

    def __init__(
        self,
        *,
        step: MaintenanceStep,
        catalog: str,
        pipeline: str,
        tables: Sequence[str],
        cluster_by: Mapping[str, Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.catalog = catalog
        self.pipeline = pipeline
        self.tables = tuple(tables)
        self.cluster_by = {name: tuple(columns) for name, columns in (cluster_by or {}).items()}

    def execute(self, context: Context) -> dict[str, Any]:
        """Maintain, and return what was done; tables that could not be maintained fail the task at the end."""
        from airflow_trickle.engine.maintenance.maintain import Listeners, Rules, describe, maintain
        from airflow_trickle.lakehouse.catalog import open_lakehouse

        def done(result: MaintainedTable) -> None:
            log.info("%s", describe(result))

        dry_run = bool((context.get("params") or {}).get("dry_run", False))
        policy = self.step.policy
        rules = Rules(policy, {self.pipeline: policy}, self.cluster_by)
        with told_in_words(), open_lakehouse(self.catalog) as lake:
            found = maintain(lake, rules, self.tables, dry_run=dry_run, tell=Listeners(done=done))
            log.info("%s", found.summary)
            if found.failed:
                raise MaintenanceFailed("\n".join(found.failed))
        returned: dict[str, Any] = found.model_dump(mode="json")
        return returned
