"""What `near` reads from Spark: tables outside of the cycle, their changes, and rules that are more than joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from airflow_trickle.engine.fetch import fetch
from airflow_trickle.engine.fixpoint.conjunction import Atom, Conjunction
from airflow_trickle.engine.fixpoint.joins import NotNear, among, distinct
from airflow_trickle.engine.fixpoint.machine import LOST, Machine
from airflow_trickle.engine.fixpoint.near_rows import NearRows
from airflow_trickle.engine.fixpoint.rules import Rule
from airflow_trickle.engine.fixpoint.sql import World
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.identifiers import fold, quote


class Change(NamedTuple):
    """The rows of a table that came and those that went, in the columns of an atom."""

    came: pa.Table
    went: pa.Table


@dataclass
class Outside:
    """Reads each part once; whatever is too much or has NULLs is refused with `NotNear`.

    Attributes:
        machine: Whose tables they are.
        rules: By member: its rules that are joins.
        others: By member: its other rules, which read no members.
        rows: By member: its rows.
        most: So many rows are brought here at once.
        most_bytes: So many bytes of them are held here.
    """

    machine: Machine
    rules: Mapping[str, Sequence[Conjunction]]
    others: Mapping[str, Sequence[Rule]]
    rows: Mapping[str, NearRows]
    most: int
    most_bytes: int
    #: What was read of tables and of their changes, by view and columns.
    _read: dict[tuple[str, tuple[str, ...]], pa.Table] = field(default_factory=dict)

    def computed(self, key: str) -> list[pa.Table]:
        """What the rules give that Spark computes."""
        rows = self.rows[key]
        listed = ", ".join(rows.rows.names)
        sqls = self.machine.whole_of(rows.rows.member, self.others[key])
        return [rows.taken(self._fetched(f"SELECT DISTINCT {listed} FROM ({sql})")) for sql in sqls]

    def _fetched(self, sql: str) -> pa.Table:
        members = sum(rows.nbytes for rows in self.rows.values())
        found = fetch(self.machine.bench.frame(sql), self.most, most_bytes=self.most_bytes - members - self.nbytes)
        if found is None:
            raise NotNear
        _refuse_nulls(found)
        return found

    @property
    def nbytes(self) -> int:
        """How many bytes was read here takes."""
        return sum(rows.nbytes for rows in self._read.values())

    def read_tables(self) -> None:
        """Read all tables outside that rules read here."""
        for rules in self.rules.values():
            for rule in rules:
                for atom in rule.atoms:
                    if atom.member is None:
                        self.table(atom)

    def table(self, atom: Atom) -> pa.Table:
        """The rows of a table outside as they are now, in the columns of an atom."""
        at = (atom.views.new, atom.columns)
        if at not in self._read:
            shown = ", ".join(f"{quote(name)} AS c{number}" for number, name in enumerate(atom.columns))
            self._read[at] = self._fetched(f"SELECT DISTINCT {shown} FROM {quote(atom.views.new)}")
        return self._read[at]

    def changes(self, change: World) -> dict[int, Change]:
        """By the identity of an atom: how its table changed."""
        found = {}
        for atom in (atom for rules in self.rules.values() for rule in rules for atom in rule.atoms):
            delta = _delta_of(atom, change)
            if delta is None:
                continue
            both = self._change(delta, atom.columns)
            columns, went = both.drop_columns(["went"]), both["went"]
            # What came and went again is not there.
            came = among(columns.filter(pc.invert(went)), self.table(atom), columns.column_names)
            found[id(atom)] = Change(came, columns.filter(went))
        return found

    def _change(self, delta: str, names: tuple[str, ...]) -> pa.Table:
        """The rows of a change in some columns, and whether they went."""
        if (delta, names) not in self._read:
            here = self.machine.bench.rows_of(delta)
            if here is None:
                shown = ", ".join(f"{quote(name)} AS c{number}" for number, name in enumerate(names))
                both = self._fetched(f"SELECT DISTINCT {shown}, {WEIGHT} < 0 AS went FROM {quote(delta)}")
            else:
                places = {fold(name): number for number, name in enumerate(here.column_names)}
                columns = {f"c{number}": here.column(places[name]) for number, name in enumerate(names)}
                both = distinct(pa.table({**columns, "went": pc.less(here[WEIGHT], 0)}))
                _refuse_nulls(both)
            self._read[delta, names] = both
        return self._read[delta, names]

    def moved_elsewhere(self, change: World) -> tuple[dict[str, list[pa.Table]], dict[str, list[pa.Table]]]:
        """What the rules give more and may give less that Spark computes."""
        gained: dict[str, list[pa.Table]] = {}
        lost: dict[str, list[pa.Table]] = {}
        for key, rows in self.rows.items():
            for rule in self.others[key]:
                view = self.machine.moved_by(rows.rows, rule, change, {})
                if view is None:
                    continue
                here = self.machine.bench.rows_of(view)
                found = here if here is not None else self._fetched(f"SELECT * FROM {quote(view)}")
                _refuse_nulls(found)
                plain = rows.taken(found.select(rows.names))
                gained.setdefault(key, []).append(plain.filter(pc.greater(found[WEIGHT], 0)))
                lost.setdefault(key, []).append(plain.filter(pc.equal(found[LOST], 1)))
        return gained, lost

    def given(self) -> dict[str, pa.Table]:
        """What the rules give that Spark computes, as everything is now."""
        found = {}
        for key, rows in self.rows.items():
            here = self.computed(key)
            found[key] = distinct(pa.concat_tables(here)) if here else rows.nothing
        return found


def _delta_of(atom: Atom, change: World) -> str | None:
    if atom.member is not None:
        return None
    return next((views.delta for views in change.tables.values() if views.new == atom.views.new), None)


def _refuse_nulls(rows: pa.Table) -> None:
    if any(column.null_count for column in rows.columns):
        raise NotNear
