"""The task that stands for a file nobody can run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_trickle.errors import DefinitionError, Problem
from airflow_trickle.operators.failures import told_in_words

if TYPE_CHECKING:
    from airflow.sdk import Context


class BrokenDefinitionOperator(BaseOperator):
    """Fails with everything that is wrong with a definition file.

    Args:
        problems: what is wrong, and where.
    """

    ui_color = "#fbe9e7"

    def __init__(self, *, problems: Iterable[Problem], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.problems = tuple(problems)

    def execute(self, context: Context) -> None:
        """Tell the problems; there is no retry, since only an edit helps."""
        with told_in_words():
            raise DefinitionError(self.problems)
