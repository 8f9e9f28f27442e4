"""The errors this package raises; each docstring says the caller's next move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_trickle.results import Iteration, TableResult


@dataclass(frozen=True, order=True)
class Position:
    """A place in a file, counted from 1; prints as ``dags/orders.yaml:7:12``."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """The place that prints as ``text``.

        >>> Position.parse("dags/orders.yaml:7:12")
        Position(file='dags/orders.yaml', line=7, column=12)
        """
        file, line, column = text.rsplit(":", 2)
        return cls(file, int(line), int(column))


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong with a definition, where it is and what to do about it.

    >>> print(Problem(Position("a.yaml", 3, 5), "unknown key 'quary'.", "Did you mean 'query'?"))
    a.yaml:3:5: unknown key 'quary'. Did you mean 'query'?
    """

    at: Position
    message: str
    hint: str = ""
    #: The stream table that it is about, if it is about one.
    table: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.at}: {self.message}" + (f" {self.hint}" if self.hint else "")

    def as_dict(self) -> dict[str, Any]:
        """The problem as ``trickle … --json`` prints it."""
        return {
            "file": self.at.file,
            "line": self.at.line,
            "column": self.at.column,
            "message": self.message,
            "hint": self.hint,
        }


class TrickleError(Exception):
    """Something this package refuses or could not do; ``str(error)`` is written for a person."""


class DefinitionError(TrickleError):
    """YAML or SQL is wrong: show ``problems`` to the author; nothing was run."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class SettingsError(TrickleError):
    """A setting of airflow.cfg or the environment is wrong: correct it and start again."""


class CatalogUnavailable(TrickleError):
    """The Iceberg catalog or its database did not answer: check its address, then try again."""


class CommitUnanswered(CatalogUnavailable):
    """The connection was lost at COMMIT, so that it may count or not: look at the published state, then go on."""


class NotTheOwner(TrickleError):
    """Another catalog database owns the warehouse: use that one, or ``trickle take-over`` if this one replaces it."""


class WarehouseUnavailable(TrickleError):
    """The warehouse cannot be read or written: check path, rights and free space, then try again."""


class SourceMissing(TrickleError):
    """A source is not in the catalog: create it or correct its name."""


class UnsupportedTable(TrickleError):
    """A table has something this version does not read or write; the message says what."""


class ForeignTable(TrickleError):
    """Somebody else made or changed a stream table: look at it, then ``trickle reset`` or ``drop``."""


class CommitConflict(TrickleError):
    """Another writer was first; nothing was published: read again and try again."""

    def __init__(self, message: str, tables: Iterable[str] = ()) -> None:
        self.tables = tuple(tables)
        super().__init__(message)


class StagedFilesMissing(CommitConflict):
    """Files that were about to be published are gone; nothing was published: the next attempt writes them again."""


class MaintenanceFailed(TrickleError):
    """Some tables could not be maintained, and the others were: see what failed, then run it again."""


class LeaseHeld(TrickleError):
    """Another process refreshes this table at the moment: wait for it, then try again."""


class SparkUnavailable(TrickleError):
    """Spark could not be started or reached: check the connection or the server's log."""


class RefreshFailed(TrickleError):
    """The query failed on Spark or its result could not be written; nothing was published."""


class QueryRejected(RefreshFailed):
    """Spark does not accept a query: another attempt would meet the same, until the query or its inputs change.

    Args:
        message: For a person.
        problem: The same as what is wrong with the definition, with its place.
        table: The name of the stream table.
    """

    def __init__(self, message: str, problem: Problem | None = None, table: str | None = None) -> None:
        self.problem = problem
        self.table = table
        super().__init__(message)


class NonConvergence(TrickleError):
    """A cycle did not settle within its cap; nothing was published: mend query or data, then ``trickle resume``.

    Args:
        message: For a person.
        unit: The unit of the plan.
        members: The names of its tables.
        trace: What each pass changed.
        hint: What may be wrong, and what to do.
    """

    def __init__(
        self, message: str, *, unit: str, members: Iterable[str], trace: Iterable[Iteration], hint: str = ""
    ) -> None:
        self.unit = unit
        self.members = tuple(members)
        self.trace = tuple(trace)
        self.hint = hint
        super().__init__(message)


class CaptureFailed(TrickleError):
    """A source could not be captured; its mirror is as it was: see what the message says, then try again."""


class TickFailed(TrickleError):
    """At least one table of a tick failed: ``results`` holds what became of every table."""

    def __init__(self, message: str, results: Mapping[str, TableResult]) -> None:
        self.results = dict(results)
        super().__init__(message)


class CannotRestate(TrickleError):
    """A pipeline cannot be taken back to that moment: the message says to which it can, or what to do instead."""
