"""Buttons on a task's page in Airflow's UI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator


class PassesLink(BaseOperatorLink):
    """Leads to the XComs of the task's run: under ``iterations`` is what each pass changed."""

    @property
    def name(self) -> str:
        """The button's text."""
        return "Passes"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        """The page; Airflow asks for it when the task has ended, with the task instance itself."""
        return f"{_page(ti_key)}/xcom"


class HistoryLink(BaseOperatorLink):
    """Leads to all runs of the task."""

    @property
    def name(self) -> str:
        """The button's text."""
        return "History"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        """The page; Airflow asks for it when the task has ended, with the task instance itself."""
        dag = _page(ti_key).partition("/runs/")[0]
        return f"{dag}/tasks/{ti_key.task_id}"


def _page(task_instance: Any) -> str:
    """The page of the task's run, without the part that chooses an attempt."""
    return str(task_instance.log_url).partition("?")[0]
