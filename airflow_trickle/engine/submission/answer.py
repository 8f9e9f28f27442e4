"""What became of a request, as JSON and back: results or an error, which stays of its kind."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow_trickle import errors
from airflow_trickle.errors import (
    CommitConflict,
    DefinitionError,
    NonConvergence,
    Position,
    Problem,
    TickFailed,
    TrickleError,
)
from airflow_trickle.results import Iteration, TableResult


@dataclass(frozen=True)
class Answer:
    """What an application has done: the passes over a cycle, and the results or the error it ended with.

    ``unfinished``: it has made its passes, and another application has to go on.
    """

    results: tuple[TableResult, ...] = ()
    error: TrickleError | None = None
    passes: tuple[Iteration, ...] = ()
    unfinished: bool = False

    def or_raise(self) -> tuple[TableResult, ...]:
        """The results; raises the error if that is what it ended with."""
        if self.error is not None:
            raise self.error
        return self.results

    def as_json(self) -> str:
        """The answer as text for a state table."""
        return json.dumps(
            {
                "results": [result.model_dump(mode="json") for result in self.results],
                "error": None if self.error is None else _said(self.error),
                "passes": [one.model_dump(mode="json") for one in self.passes],
                "unfinished": self.unfinished,
            }
        )


def answer_of(text: str) -> Answer:
    """The answer that ``as_json`` wrote."""
    said = json.loads(text)
    return Answer(
        tuple(TableResult.model_validate(one) for one in said["results"]),
        None if said["error"] is None else _error(said["error"]),
        _passes(said["passes"]),
        said["unfinished"],
    )


def _said(error: TrickleError) -> dict[str, Any]:
    """An error with everything that callers look at; of a kind that is not for all, the nearest that is."""
    kind = next(kind for kind in type(error).__mro__ if getattr(errors, kind.__name__, None) is kind)
    said: dict[str, Any] = {"kind": kind.__name__, "message": str(error)}
    if isinstance(error, DefinitionError):
        said["problems"] = [problem.as_dict() for problem in error.problems]
    elif isinstance(error, CommitConflict):
        said["tables"] = list(error.tables)
    elif isinstance(error, NonConvergence):
        said |= {"unit": error.unit, "members": list(error.members), "hint": error.hint}
        said["trace"] = [one.model_dump(mode="json") for one in error.trace]
    elif isinstance(error, TickFailed):
        said["results"] = {name: result.model_dump(mode="json") for name, result in error.results.items()}
    return said


def _error(said: dict[str, Any]) -> TrickleError:
    kind, message = said["kind"], said["message"]
    if kind == DefinitionError.__name__:
        places = ((one, Position(one["file"], one["line"], one["column"])) for one in said["problems"])
        return DefinitionError(Problem(at, one["message"], one["hint"]) for one, at in places)
    if kind == CommitConflict.__name__:
        return CommitConflict(message, said["tables"])
    if kind == NonConvergence.__name__:
        trace = _passes(said["trace"])
        return NonConvergence(message, unit=said["unit"], members=said["members"], trace=trace, hint=said["hint"])
    if kind == TickFailed.__name__:
        return TickFailed(message, {name: TableResult.model_validate(one) for name, one in said["results"].items()})
    plain: type[TrickleError] = getattr(errors, kind)
    return plain(message)


def _passes(said: Iterable[Any]) -> tuple[Iteration, ...]:
    return tuple(Iteration.model_validate(one) for one in said)
