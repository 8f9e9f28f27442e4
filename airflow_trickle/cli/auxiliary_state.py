"""The auxiliary state of tables, as ``trickle explain`` and ``trickle history`` show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from airflow_trickle.errors import TrickleError

if TYPE_CHECKING:
    from airflow_trickle.plan.steps import Plan, TableStep

#: How many refreshes are looked at for the latest one that dealt with state.
_FAR_BACK = 50


def state_of(plan: Plan, table: TableStep) -> tuple[list[dict[str, Any]], list[str]]:
    """The parts of a table's query with the state that its latest refresh left, and why the catalog was not asked.

    A catalog that nobody has opened yet is not made for this.
    """
    from airflow_trickle.engine.explain import name_of_part
    from airflow_trickle.lakehouse.catalog import open_lakehouse, was_opened
    from airflow_trickle.lakehouse.state import read_history

    try:
        if not was_opened(plan.catalog):
            return [], []
        with open_lakehouse(plan.catalog) as lake:
            rows = read_history(lake, identifier=table.identifier, limit=_FAR_BACK)
    except TrickleError as error:
        return [], [str(error)]
    parts: list[dict[str, Any]] = next((row["state"] for row in rows if row["state"]), [])
    return [{**part, "name": name_of_part(table, part["part"])} for part in parts], []


def state_lines(parts: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of ``trickle explain``."""
    for part in parts:
        if part["bytes"] is not None:
            files = f"{part['files']} file" + ("" if part["files"] == 1 else "s")
            yield f"  {part['name']}: {size_text(part['bytes'])} in {files}"
        else:
            yield f"  {part['name']}: none, because {part['why']}"


def size_text(size: int) -> str:
    """A size as people read it.

    >>> size_text(1536), size_text(3 * 1024**2)
    ('1.5 KiB', '3.0 MiB')
    """
    for unit, length in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size >= length:
            return f"{size / length:.1f} {unit}"
    return f"{size} bytes"


def state_of_row(row: Mapping[str, Any]) -> str | None:
    """The state that a refresh left, for a line of ``trickle history``: its size, or why there is none."""
    sizes = [part["bytes"] for part in row["state"] if part["bytes"] is not None]
    if sizes:
        return size_text(sum(sizes))
    return next((part["outcome"] for part in row["state"] if part["outcome"] in ("declined", "removed")), None)
