"""Terms: the summands of a change, each of which reads one state of every relation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from airflow_trickle.engine.delta.context import Version
from airflow_trickle.engine.zset import WEIGHT

#: An outer join of the text as a term has it that reads pairs of rows only.
INNER = "JOIN"


@dataclass(frozen=True)
class Beside:
    """A relation behind those of the text: a view, what it is called, and its columns, which a star must not show."""

    view: str
    alias: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Term:
    """One summand: the state of every relation, what each row counts, and which rows take part."""

    versions: tuple[Version, ...]
    weight: str = WEIGHT
    #: 1 if every row comes, -1 if every row goes, 0 if the weight tells.
    sign: int = 0
    conditions: tuple[str, ...] = ()
    #: The state that subqueries in expressions read.
    inner: Version = Version.NEW
    #: By position: joins that are not those of the text.
    joins: dict[int, str] = field(default_factory=dict)
    #: By position: conditions of a join beside those of the text.
    on: dict[int, tuple[str, ...]] = field(default_factory=dict)
    #: By where a table's name stands, in FROM or in a subquery: which of its rows are enough to read there.
    enough: dict[int, str] = field(default_factory=dict)
    #: What is read beside the relations of the text.
    beside: Beside | None = None
    #: Conditions in place of WHERE; None: WHERE of the text.
    where: tuple[str, ...] | None = None

    def with_(self, version: Version, join: tuple[int, str] | None = None) -> Term:
        """The same with one more relation."""
        joins = self.joins if join is None else {**self.joins, join[0]: join[1]}
        return replace(self, versions=(*self.versions, version), joins=joins)


def uniform(count: int, version: Version, weight: int = 1) -> Term:
    """All relations in one state; every row counts the same."""
    return Term((version,) * count, f"CAST({weight} AS BIGINT)", weight)


def all_of(count: int, version: Version) -> Term:
    """All relations in one state, without weights."""
    return Term((version,) * count, "", inner=version if version is Version.OLD else Version.NEW)
