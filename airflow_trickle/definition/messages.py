"""Errors of the models in words of our own, at their place in the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from airflow_trickle.definition.document import Document
from airflow_trickle.definition.model import DefaultsModel, MaintenanceModel, PipelineModel, TableModel
from airflow_trickle.definition.source_model import SourceModel
from airflow_trickle.definition.values import MUST, REFUSED
from airflow_trickle.definition.words import given, listed, nearest, shortened
from airflow_trickle.errors import Position, Problem

Loc = tuple[str | int, ...]

_KEY = "[key]"
_QUERIES = ("query", "query_file")
_PARTS = {"stream_tables": "stream table", "sources": "source"}
_MAPPINGS = {
    "stream_tables": "a mapping from names to queries",
    "sources": "a mapping from names to {}, or a list of names",
    "defaults": "a mapping of keys of stream tables",
    "maintenance": "a mapping such as {schedule: @daily, keep_snapshots_for: 7d}",
}
#: Keys of the pipeline that hold keys of their own.
_NESTED: dict[str, type[BaseModel]] = {"defaults": DefaultsModel, "maintenance": MaintenanceModel}
_ITEMS = {
    "stream_tables": ("a mapping with a query", "Write `query: SELECT …` below the name."),
    "sources": ("a mapping such as {}, {table: namespace.name} or {path: /data/x, format: parquet}", ""),
}
#: Nobody reads more of one file at once.
MOST_PROBLEMS = 200


def first_problems(problems: Sequence[Problem], file: str, untold: int) -> tuple[Problem, ...]:
    """The first problems of a file, and how many more there are; ``untold``: besides those that are given."""
    told = sorted(problems)
    more = len(told[MOST_PROBLEMS:]) + untold
    if not more:
        return tuple(told)
    problem = Problem(Position(file, 1, 1), f"the file has {more:,} more problems than are shown.", "Mend these first.")
    return (problem, *told[:MOST_PROBLEMS])


def problems_of(error: ValidationError, document: Document) -> list[tuple[Loc, Problem]]:
    """Every error, up to a number, with the part of the data to leave out so that the rest can be read."""
    found = [(tuple(item["loc"]), item) for item in error.errors(include_url=False)[:MOST_PROBLEMS]]
    # One slip, one message: 'pipelin' is not also a missing 'pipeline'.
    meant = {_meant(loc) for loc, item in found if item["type"] == "extra_forbidden"}
    told: list[tuple[Loc, Problem]] = []
    for loc, item in found:
        if item["type"] == "missing" and loc in meant:
            continue
        told.append((_condemned(loc, item, document), _problem(loc, item, document)))
    return told


def _condemned(loc: Loc, item: Any, document: Document) -> Loc:
    if len(loc) > 2 and loc[0] == "sources" and loc[2] != _KEY:
        # Without one of its keys a source would be blamed once more, for what does not fit together.
        return loc[:2]
    if len(loc) != 3 or loc[0] != "stream_tables" or loc[2] == _KEY:
        return loc
    slip = item["type"] == "extra_forbidden" and _meant(loc)[-1] in _QUERIES
    given_query = any(key in document.data["stream_tables"][loc[1]] for key in _QUERIES)
    if loc[2] in _QUERIES or (slip and not given_query):
        # Without its query the table would be blamed once more, for having none.
        return loc[:-1]
    return loc


def _meant(loc: Loc) -> Loc:
    """The known key that an unknown one is a slip of."""
    return (*loc[:-1], nearest(str(loc[-1]), _keys(loc)) or "")


def _problem(loc: Loc, item: Any, document: Document) -> Problem:
    if loc and loc[-1] == _KEY:
        return _bad_name(loc, item, document)
    tell = _TELLERS.get(item["type"], _not_a_mapping)
    return tell(loc, item, document)


def _missing(loc: Loc, item: Any, document: Document) -> Problem:
    return Problem(document.position(loc[:-1]), f"{_where(loc)}the key '{loc[-1]}' is missing.", "")


def _empty(loc: Loc, item: Any, document: Document) -> Problem:
    hint = "Give at least one stream table."
    return Problem(document.key_position(loc), "'stream_tables' is empty.", hint)


def _bad_name(loc: Loc, item: Any, document: Document) -> Problem:
    context = item.get("ctx", {})
    part = _PARTS[str(loc[0])]
    message = f"the name of the {part} '{loc[-2]}' must be {context.get('must', 'a text')}."
    return Problem(document.key_position(loc[:-1]), message, context.get("hint", ""))


def _refused(loc: Loc, item: Any, document: Document) -> Problem:
    at = document.key_position(loc) if _names_item(loc) else document.position(loc)
    return Problem(at, _where(loc) + item["ctx"]["message"], item["ctx"]["hint"])


def _must(loc: Loc, item: Any, document: Document) -> Problem:
    message = f"{_where(loc)}'{loc[-1]}' is {given(item['input'])}, but must be {item['ctx']['must']}."
    return Problem(document.position(loc), message, item["ctx"]["hint"])


def _not_a_mapping(loc: Loc, item: Any, document: Document) -> Problem:
    value = item["input"]
    if _names_item(loc):
        what, hint = _ITEMS[str(loc[0])]
        part = f"{_PARTS[str(loc[0])]} '{loc[1]}'"
        at = document.key_position(loc) if value is None else document.position(loc)
        return Problem(at, f"{part} is {given(value)}, but must be {what}.", hint)
    key = str(loc[-1]) if loc else ""
    what = _MAPPINGS.get(key, "a mapping")
    return Problem(document.position(loc), f"'{key}' is {given(value)}, but must be {what}.", "")


def _unknown_key(loc: Loc, item: Any, document: Document) -> Problem:
    key, allowed = str(loc[-1]), sorted(_keys(loc))
    near = nearest(key, allowed)
    meant = f"Did you mean '{near}'? " if near else ""
    if " " in key and item["input"] is None:
        # `{query: SELECT a, b FROM t}` is a query `SELECT a` and a key `b FROM t`.
        meant = "Between { and } a comma ends a text: put the text before it in quotes. "
    return Problem(
        document.key_position(loc),
        f"{_where(loc)}unknown key {shortened(key)}.",
        f"{meant}Allowed keys: {listed(allowed)}.",
    )


def _model(loc: Loc) -> type[BaseModel]:
    """The model that holds the key at ``loc``."""
    if len(loc) > 2 and loc[0] in _PARTS:
        return TableModel if loc[0] == "stream_tables" else SourceModel
    return _NESTED.get(str(loc[0]), PipelineModel) if len(loc) > 1 else PipelineModel


def _keys(loc: Loc) -> list[str]:
    """The keys that may stand where ``loc`` does."""
    return [field.alias or name for name, field in _model(loc).model_fields.items()]


def _names_item(loc: Loc) -> bool:
    return len(loc) == 2 and loc[0] in _PARTS


def _where(loc: Loc) -> str:
    if len(loc) > 1 and loc[0] in _PARTS:
        return f"{_PARTS[str(loc[0])]} '{loc[1]}': "
    return f"{loc[0]}: " if len(loc) > 1 and loc[0] in _NESTED else ""


_TELLERS: dict[str, Callable[[Loc, Any, Document], Problem]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "too_short": _empty,
    REFUSED: _refused,
    MUST: _must,
}
