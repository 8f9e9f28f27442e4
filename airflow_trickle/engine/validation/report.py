"""What was found when queries were checked against the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow_trickle.errors import Position, Problem


@dataclass(frozen=True, order=True)
class Unchecked:
    """A stream table whose query could not be checked, and why not."""

    at: Position
    pipeline: str
    table: str
    because: str

    def __str__(self) -> str:
        return f"{self.at}: stream table '{self.table}' was not checked, because {self.because}."

    def as_dict(self) -> dict[str, Any]:
        """The table as ``trickle validate --json`` prints it."""
        return {
            "file": self.at.file,
            "line": self.at.line,
            "column": self.at.column,
            "pipeline": self.pipeline,
            "table": self.table,
            "because": self.because,
        }


@dataclass(frozen=True)
class Report:
    """What is wrong with queries, which were not checked, and what else is worth knowing; all in order of place."""

    problems: tuple[Problem, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    #: What is right, but not what one may expect: tables that are always computed in full.
    notes: tuple[Problem, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether every query was checked, and nothing is wrong."""
        return not self.problems and not self.unchecked


def merged(reports: Iterable[Report]) -> Report:
    """Several reports as one."""
    found = list(reports)
    return Report(
        tuple(sorted({one for report in found for one in report.problems})),
        tuple(sorted({one for report in found for one in report.unchecked})),
        tuple(sorted({one for report in found for one in report.notes})),
    )
