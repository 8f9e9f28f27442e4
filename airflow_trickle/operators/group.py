"""The tasks of an atomic group: begin (setup), a stage per member, commit, cleanup (teardown)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from airflow_trickle.operators.base import Opened, UnitOperator
from airflow_trickle.operators.fixpoint import telling
from airflow_trickle.operators.links import HistoryLink, PassesLink
from airflow_trickle.operators.skipping import end_of, end_skipping
from airflow_trickle.plan.steps import RefreshStep

if TYPE_CHECKING:
    from airflow.sdk import BaseOperatorLink, Context

    from airflow_trickle.engine.group import GroupRefresh


def _group(step: RefreshStep, opened: Opened, **more: Any) -> GroupRefresh:
    from airflow_trickle.engine.group import GroupRefresh

    return GroupRefresh(opened.lake, step, opened.tick, opened.spark, opened.full_refresh, **more)


class GroupBeginOperator(UnitOperator):
    """Claims the tables of an atomic group for this tick; if they have nothing to do, the group is passed over.

    Args:
        step: the group, from the plan.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs; it is not used.
        rest: the other tasks of the group.
        pin_task_id: the task whose XCom is the tick.
    """

    ui_color = "#fff2cc"

    def __init__(self, *, rest: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rest = tuple(rest)

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Look at the group, and return what became of it if it has nothing to do."""
        with self.opened(context) as opened:
            results = _group(self.step, opened).begin()
        if results is None or any(result.changed for result in results):
            # Also if an earlier attempt of this tick has published it: the commit has still to tell its assets.
            return []
        told = [result.model_dump(mode="json") for result in results]
        returned: list[dict[str, Any]] = end_skipping(context, told, self.rest)
        return returned


class GroupStageOperator(UnitOperator):
    """Computes the next state of a member of an atomic group; only the members after it see it.

    Args:
        step: the group, from the plan.
        member: the unit of the member.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs.
        pin_task_id: the task whose XCom is the tick.
    """

    ui_color = "#e6f4ea"

    def __init__(self, *, member: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.member = member

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Stage, and return what will become of each table."""
        from airflow_trickle.operators.submitting import staged

        with self.opened(context) as opened, telling(context) as progress:
            results = staged(_group(self.step, opened, progress=progress), self.member)
        return end_of(context, results)


class GroupFixpointOperator(GroupStageOperator):
    """Brings a cycle inside of an atomic group to its fixed point; see `GroupStageOperator`."""

    ui_color = "#dcecf9"
    operator_extra_links: Collection[BaseOperatorLink] = (PassesLink(), HistoryLink())


class GroupCommitOperator(UnitOperator):
    """Publishes all members of an atomic group in one transaction.

    Args:
        step: the group, from the plan.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs; used only for members whose work was lost.
        pin_task_id: the task whose XCom is the tick.
        assets: by table, the asset that is updated when the table changes.
    """

    ui_color = "#d5e8d4"

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Publish, and return what became of each table."""
        from airflow_trickle.operators.submitting import committed

        with self.opened(context) as opened:
            results = committed(_group(self.step, opened))
        self.update_assets(context, results)
        return [result.model_dump(mode="json") for result in results]


class GroupCleanupOperator(UnitOperator):
    """Removes what an atomic group has staged and did not publish, and gives its tables back.

    Args:
        step: the group, from the plan.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs.
        pin_task_id: the task whose XCom is the tick.
    """

    ui_color = "#eeeeee"

    def execute(self, context: Context) -> None:
        """Clean up; a group that was published has left nothing."""
        with self.opened(context) as opened:
            _group(self.step, opened).cleanup()
