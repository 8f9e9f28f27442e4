"""Rules that only follow equal values, as conjunctions: what joins of Arrow tables in this process can say.

    SELECT r.src, e.dst FROM reach AS r JOIN edges AS e ON e.src = r.dst        reach(0, 2) :- reach(0, 1), edges(1, 2)

Every column is a variable, and columns that have to be equal are the same one. Such a rule means the same everywhere as
long as there are no NULLs and its types are those whose values are equal here exactly if they are on Spark; whatever
computes, filters or looks for something in another way stays with Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_trickle.algebra.nodes import JoinKind
from airflow_trickle.blocks.equalities import ColumnName, equalities, word_or_column
from airflow_trickle.blocks.expressions import conjuncts
from airflow_trickle.blocks.shapes import Select, Span, TableName
from airflow_trickle.engine.delta.context import Views
from airflow_trickle.engine.delta.narrowing import Relations
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.fixpoint.joins import named
from airflow_trickle.engine.fixpoint.rows import PLAIN_TYPES, Rows
from airflow_trickle.engine.fixpoint.rules import Rule
from airflow_trickle.engine.fixpoint.sql import RuleSql

if TYPE_CHECKING:
    from airflow_trickle.engine.fixpoint.machine import Machine

_JOINED = (JoinKind.INNER, JoinKind.CROSS)


@dataclass(frozen=True)
class Atom:
    """One relation of a rule: which columns of it are which variables.

    Attributes:
        columns: The columns that matter, by name.
        places: Where they stand among all columns.
        variables: The variable of each.
        member: The key of the member that it reads; None for a table outside.
        views: The states of what it reads.
    """

    columns: tuple[str, ...]
    places: tuple[int, ...]
    variables: tuple[int, ...]
    member: str | None
    views: Views

    def of(self, rows: pa.Table, *also: str) -> pa.Table:
        """Rows in the place of this relation: of a member with all columns, of a table with those that matter."""
        places = self.places if self.member is not None else range(len(self.columns))
        return named(rows, zip(places, self.variables, strict=True), *also)


@dataclass(frozen=True)
class Conjunction:
    """A rule as atoms and the variables that its columns are."""

    atoms: tuple[Atom, ...]
    output: tuple[int, ...]

    @property
    def members(self) -> set[str]:
        """The members that it reads."""
        return {atom.member for atom in self.atoms if atom.member is not None}


def select_of(rule: Rule) -> Rule | None:
    """A rule as one SELECT; None if it is more than that."""
    if rule.select is not None:
        return rule
    query = rule.outside
    if query is None or query.ctes or query.order or query.limit is not None or query.skip is not None:
        return None
    return replace(rule, select=query.body, outside=None) if isinstance(query.body, Select) else None


def conjunction_of(rule: Rule, block: Block, rows: Rows) -> Conjunction | None:
    """A rule of a member as a conjunction; None if it is more than that.

    Args:
        rule: One SELECT.
        block: Its SELECT over the states of what it reads.
        rows: The member that it gives rows to.
    """
    select = block.select
    if rule.deep or rule.around or rule.outside is not None or not _is_plain(select):
        return None
    spans = rule.items if rule.items is not None else [item.span for item in select.items]
    items = [word_or_column(block.context.blocks, span) for span in spans]
    pairs = _pairs(block)
    if pairs is None or len(items) != len(rows.columns):
        return None
    variables = _Variables(block.narrowing.relations)
    for one, other in pairs:
        if not variables.equal(one, other):
            return None
    output = []
    for item, column in zip(items, rows.columns, strict=True):
        variable = None if item is None else variables.of(item, column.type)
        if variable is None:
            return None
        output.append(variable)
    return _atoms(rule, block, variables, output)


def _is_plain(select: Select) -> bool:
    """Whether a SELECT has nothing but columns, relations and conditions."""
    more = (select.laterals, select.group, select.having, select.qualify, select.windows)
    return (
        all(part is None for part in more)
        and not select.group_all
        and all(item.star is None for item in select.items)
        and all(isinstance(source.relation, TableName) and not source.using for source in select.sources)
        and all(source.kind in _JOINED for source in select.sources[1:])
    )


def _pairs(block: Block) -> list[tuple[ColumnName, ColumnName]] | None:
    """All conditions, if they are equalities of columns."""
    found: list[tuple[ColumnName, ColumnName]] = []
    for condition in (*(source.on for source in block.select.sources), block.select.where):
        if condition is None:
            continue
        said = list(equalities(block.context.blocks, condition))
        if len(said) != _parts(block, condition):
            return None
        found += said
    return found


def _parts(block: Block, condition: Span) -> int:
    return len(conjuncts(block.context.blocks.cursor(condition))) or -1


def _atoms(rule: Rule, block: Block, variables: _Variables, output: Sequence[int]) -> Conjunction | None:
    atoms = []
    for at, source in enumerate(block.select.sources):
        assert isinstance(source.relation, TableName)  # noqa: S101 - asked before
        views = block.context.views_of(source.relation, block.scope)
        known = list(views.types or ())
        # In one order, so that two rules that read the same columns of a table can share them.
        columns = {
            name: variables.final(number) for (where, name), number in sorted(variables.numbers.items()) if where == at
        }
        if not columns:
            return None  # read only for being there
        places = tuple(known.index(name) for name in columns)
        key = rule.reads.get(source.relation.span.start)
        atoms.append(Atom(tuple(columns), places, tuple(columns.values()), key, views))
    found = Conjunction(tuple(atoms), tuple(variables.final(one) for one in output))
    return found if _is_connected(found.atoms) else None


def _is_connected(atoms: Sequence[Atom]) -> bool:
    """Whether no two parts stand beside each other without a common variable."""
    reached, rest = set(atoms[0].variables), list(atoms[1:])
    while rest:
        near = next((atom for atom in rest if reached & set(atom.variables)), None)
        if near is None:
            return False
        reached |= set(near.variables)
        rest.remove(near)
    return True


def conjunctions_of(machine: Machine) -> tuple[dict[str, list[Conjunction]], dict[str, list[Rule]]] | None:
    """By member: the rules that are joins, and others without members; None if one that reads members is no join."""
    joins: dict[str, list[Conjunction]] = {}
    others: dict[str, list[Rule]] = {}
    for key, rows in machine.rows.items():
        joins[key], others[key] = [], []
        for rule in rows.member.rules:
            plain = None if rule.deep or rule.around else select_of(rule)
            found = None
            if plain is not None:
                members = {other: machine.as_they_are(other) for other in rule.members}
                block = RuleSql(plain, machine.world, members, machine.keys).block()
                found = conjunction_of(plain, block, rows)
            if found is not None:
                joins[key].append(found)
            elif rule.members:
                return None
            else:
                others[key].append(rule)
    return joins, others


@dataclass
class _Variables:
    """Numbers for columns, and which of them are equal."""

    relations: Relations
    #: By relation and folded column.
    numbers: dict[tuple[int, str], int] = field(default_factory=dict)
    _types: list[str] = field(default_factory=list)
    _same: list[int] = field(default_factory=list)

    def of(self, column: ColumnName, kind: str | None = None) -> int | None:
        """The variable of a column; None if it is not beyond doubt which that is, or not of a plain type."""
        at = self.relations.find(column)
        found = None if at is None else (self.relations.types(at) or {}).get(column.name)
        if at is None or found not in PLAIN_TYPES or (kind is not None and found != kind):
            return None
        if (at, column.name) not in self.numbers:
            self.numbers[at, column.name] = len(self._same)
            self._same.append(len(self._same))
            self._types.append(found)
        return self.numbers[at, column.name]

    def equal(self, one: ColumnName, other: ColumnName) -> bool:
        """Make two columns one variable; false if they cannot be."""
        first, second = self.of(one), self.of(other)
        if first is None or second is None or self._types[first] != self._types[second]:
            return False
        self._same[self.final(second)] = self.final(first)
        return True

    def final(self, number: int) -> int:
        """The variable that stands for all that are equal to one."""
        while self._same[number] != number:
            number = self._same[number]
        return number
