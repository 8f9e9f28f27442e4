"""The relations of a SELECT, and which of their columns hold values that only improve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from airflow_trickle.algebra.building import offset_of
from airflow_trickle.identifiers import fold


@dataclass(frozen=True)
class Improving:
    """A value made of a lattice column: of which table, which column, ``min`` or ``max``."""

    member: str
    column: str
    best: str
    #: Where it was used last.
    offset: int = 0
    may_be_null: bool = True


@dataclass(frozen=True)
class Column:
    """A column of a relation by its folded name; ``star``: any number of them, of which none improves."""

    name: str | None = None
    value: Improving | None = None
    star: bool = False


Columns = tuple[Column, ...]
#: The columns of a table of which nothing is known but that it is no lattice.
UNKNOWN: Columns = (Column(star=True),)


@dataclass(frozen=True)
class Relation:
    """Something that FROM reads, under the folded name that qualifies its columns."""

    alias: str
    columns: Columns

    def value(self, name: str) -> Improving | None:
        """The value of a column, if it is one that improves."""
        return next((one.value for one in self.columns if one.value is not None and one.name == name), None)

    @property
    def improves(self) -> Improving | None:
        """The first of its values that improves."""
        return first_improving(self.columns)


@dataclass(frozen=True)
class Found:
    """What a name stands for; ``plain``: it is a column of the SELECT's own relations, as it is."""

    value: Improving
    plain: bool


@dataclass
class Scope:
    """What the expressions of a SELECT see."""

    relations: list[Relation] = field(default_factory=list)
    outer: Scope | None = None
    #: Improving columns of the SELECT itself, which later ones may name.
    items: dict[str, Improving] = field(default_factory=dict)
    #: Relation and name of columns of which a condition says that they are not NULL.
    sure: set[tuple[str, str]] = field(default_factory=set)

    def find(self, column: exp.Expr) -> Found | None:
        """The improving value that a column stands for; in doubt it is one, though no plain one."""
        parts = column.parts  # type: ignore[attr-defined]
        names = [fold(part.name) for part in parts]
        if isinstance(column.this, exp.Star):
            return self._star(names[:-1])
        return self._find(names, offset_of(parts[0]))

    def _star(self, qualifier: Sequence[str]) -> Found | None:
        for relation in self.relations:
            if relation.improves is not None and (not qualifier or relation.alias == qualifier[-1]):
                return Found(relation.improves, plain=False)
        return None

    def _find(self, names: Sequence[str], offset: int) -> Found | None:
        found = self._own(names)
        if found is None and self.outer is not None and not self._is_sure(names):
            found = self.outer._find(names, offset)
            found = None if found is None else Found(found.value, plain=False)
        if found is None:
            return None
        return Found(replace(found.value, offset=offset), found.plain)

    def _is_sure(self, names: Sequence[str]) -> bool:
        return len(names) == 2 and any(relation.alias == names[0] for relation in self.relations)

    def _own(self, names: Sequence[str]) -> Found | None:
        if self._is_sure(names):
            owners = [relation for relation in self.relations if relation.alias == names[0]]
            return self._plain(owners, names[1])
        if len(names) == 1:
            found = self._plain(self.relations, names[0])
            if found is None and names[0] in self.items:
                return Found(self.items[names[0]], plain=False)
            return found
        # A field of a column, or a name with its namespace: which one is not known here.
        for relation in self.relations:
            for name in names:
                value = relation.value(name)
                if value is not None:
                    return Found(value, plain=False)
        return None

    def _plain(self, relations: Sequence[Relation], name: str) -> Found | None:
        for relation in relations:
            value = relation.value(name)
            if value is not None:
                sure = (relation.alias, name) in self.sure
                return Found(replace(value, may_be_null=value.may_be_null and not sure), plain=True)
        return None

    def mark_sure(self, column: exp.Expr) -> None:
        """Notes that a condition lets no NULL of a column pass."""
        names = [fold(part.name) for part in column.parts]  # type: ignore[attr-defined]
        for relation in self.relations:
            if relation.value(names[-1]) is not None and (len(names) == 1 or relation.alias == names[0]):
                self.sure.add((relation.alias, names[-1]))


def first_improving(columns: Columns) -> Improving | None:
    """The first value that improves."""
    return next((one.value for one in columns if one.value is not None), None)


def renamed(columns: Columns, names: Sequence[str]) -> Columns | None:
    """The columns under the names of a list such as ``AS t(a, b)``; None if it is not known which is which."""
    if not names:
        return columns
    if any(one.star for one in columns):
        return UNKNOWN if first_improving(columns) is None else None
    return tuple(replace(one, name=fold(name)) for one, name in zip(columns, names, strict=False))
