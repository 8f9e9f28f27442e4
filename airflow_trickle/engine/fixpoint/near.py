"""The fixed point of rules that only follow equal values, with all rows in this process.

It does what `machine` does, step by step and with the same ranks, on Arrow tables: a pass over few rows then takes some
milliseconds, where the least that Spark can do takes a hundred. Spark reads what is outside of the cycle, computes
rules without members, and gets the result to publish it. When the rows become too many, it goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from airflow_trickle.engine.fetch import fetch
from airflow_trickle.engine.fixpoint.conjunction import Atom, Conjunction, conjunction_of, select_of
from airflow_trickle.engine.fixpoint.joins import NotNear, among, distinct, joined, named, without
from airflow_trickle.engine.fixpoint.machine import LOST, Machine, TooManyGone, too_many
from airflow_trickle.engine.fixpoint.near_rows import RANK, NearRows
from airflow_trickle.engine.fixpoint.rules import Rule
from airflow_trickle.engine.fixpoint.sql import RuleSql, World
from airflow_trickle.engine.zset import WEIGHT, quoted

#: So many rows of members and of tables outside are brought here.
MOST_HERE = 2_000_000
#: With more than this, Spark goes on.
MOST_FOUND = 6_000_000


@dataclass
class NearMachine:
    """Does the work of a machine here.

    Attributes:
        machine: Whose rows they are; gets what is found.
        rules: By member: its rules that only follow equal values.
        others: By member: its other rules, which read no members; Spark computes them.
        rows: By member: its rows.
    """

    machine: Machine
    rules: Mapping[str, Sequence[Conjunction]]
    others: Mapping[str, Sequence[Rule]]
    rows: Mapping[str, NearRows]
    #: What was read of tables outside and of their changes, by view and columns.
    _outside: dict[tuple[str, tuple[str, ...]], pa.Table] = field(default_factory=dict)
    #: Whether the machine has got some of what was found.
    has_given: bool = False

    def settle(self) -> Mapping[str, Sequence[str]] | None:
        """Bring all members to the fixed point, or as far as it can be done here; then with what Spark has to go on.

        Raises:
            NotNear: Spark has to do it from the beginning; nothing was given to the machine.
            TooManyGone: begin from nothing instead.
        """
        machine = self.machine
        if machine.change is None:
            seeds = {key: self._computed(key) for key in self.rows}
            self._read_outside()
            for key, rules in self.rules.items():
                seeds[key] += [self._with(rule, -1, None) for rule in rules if not rule.members]
            return self.derive(seeds)
        gained, lost = self._moved_elsewhere(machine.change)
        changes = self._changes_outside()
        self._read_outside()
        for key, found in self._lost(changes):
            lost.setdefault(key, []).append(found)
        if any(one.num_rows for those in lost.values() for one in those):
            self._given_elsewhere  # noqa: B018 - read now: later it would be too late to leave it to Spark
            self.retract(lost)
        for key, found in (*self._gained(changes), *self._again()):
            gained.setdefault(key, []).append(found)
        return self.derive(gained)

    # --- what is read ------------------------------------------------------------------------------

    def _computed(self, key: str) -> list[pa.Table]:
        """What the rules give that Spark computes."""
        rows = self.rows[key]
        listed = ", ".join(rows.rows.names)
        sqls = self.machine.whole_of(rows.rows.member, self.others[key])
        return [rows.taken(self._fetched(f"SELECT DISTINCT {listed} FROM ({sql})")) for sql in sqls]

    def _fetched(self, sql: str) -> pa.Table:
        found = fetch(self.machine.bench.frame(sql), MOST_HERE)
        if found is None:
            raise NotNear
        _refuse_nulls(found)
        return found

    def _read_outside(self) -> None:
        for rules in self.rules.values():
            for rule in rules:
                for atom in rule.atoms:
                    if atom.member is None:
                        self._table(atom)

    def _table(self, atom: Atom) -> pa.Table:
        """The rows of a table outside as they are now, in the columns of an atom."""
        at = (atom.views.new, atom.columns)
        if at not in self._outside:
            shown = ", ".join(f"{quoted(name)} AS c{number}" for number, name in enumerate(atom.columns))
            self._outside[at] = self._fetched(f"SELECT DISTINCT {shown} FROM {quoted(atom.views.new)}")
        return self._outside[at]

    def _changes_outside(self) -> dict[int, tuple[pa.Table, pa.Table]]:
        """By the identity of an atom: the rows of its table that came and those that went."""
        found = {}
        for atom in (atom for rules in self.rules.values() for rule in rules for atom in rule.atoms):
            delta = self._delta_of(atom)
            if delta is None:
                continue
            both = self._change(delta, atom.columns)
            columns, went = both.drop_columns(["went"]), both["went"]
            # What came and went again is not there.
            came = among(columns.filter(pc.invert(went)), self._table(atom), columns.column_names)
            found[id(atom)] = (came, columns.filter(went))
        return found

    def _change(self, delta: str, names: tuple[str, ...]) -> pa.Table:
        """The rows of a change in some columns, and whether they went."""
        if (delta, names) not in self._outside:
            here = self.machine.bench.rows_of(delta)
            if here is None:
                shown = ", ".join(f"{quoted(name)} AS c{number}" for number, name in enumerate(names))
                both = self._fetched(f"SELECT DISTINCT {shown}, {WEIGHT} < 0 AS went FROM {quoted(delta)}")
            else:
                places = {name.casefold(): number for number, name in enumerate(here.column_names)}
                columns = {f"c{number}": here.column(places[name]) for number, name in enumerate(names)}
                both = distinct(pa.table({**columns, "went": pc.less(here[WEIGHT], 0)}))
                _refuse_nulls(both)
            self._outside[delta, names] = both
        return self._outside[delta, names]

    def _delta_of(self, atom: Atom) -> str | None:
        if atom.member is not None or self.machine.change is None:
            return None
        return next((views.delta for views in self.machine.change.tables.values() if views.new == atom.views.new), None)

    def _moved_elsewhere(self, change: World) -> tuple[dict[str, list[pa.Table]], dict[str, list[pa.Table]]]:
        """What the rules give more and may give less that Spark computes."""
        gained: dict[str, list[pa.Table]] = {}
        lost: dict[str, list[pa.Table]] = {}
        for key, rows in self.rows.items():
            for rule in self.others[key]:
                view = self.machine.moved_by(rows.rows, rule, change, {})
                if view is None:
                    continue
                here = self.machine.bench.rows_of(view)
                found = here if here is not None else self._fetched(f"SELECT * FROM {quoted(view)}")
                _refuse_nulls(found)
                plain = rows.taken(found.select(rows.names))
                gained.setdefault(key, []).append(plain.filter(pc.greater(found[WEIGHT], 0)))
                lost.setdefault(key, []).append(plain.filter(pc.equal(found[LOST], 1)))
        return gained, lost

    @cached_property
    def _given_elsewhere(self) -> dict[str, pa.Table]:
        """What the rules give that Spark computes, as everything is now."""
        found = {}
        for key, rows in self.rows.items():
            here = self._computed(key)
            found[key] = distinct(pa.concat_tables(here)) if here else rows.nothing
        return found

    # --- joins -------------------------------------------------------------------------------------

    def _state(self, atom: Atom) -> pa.Table:
        return self._table(atom) if atom.member is None else self.rows[atom.member].now

    def _with(
        self, rule: Conjunction, at: int, rows: pa.Table, others: Callable[[int, Atom], pa.Table] | None = None
    ) -> pa.Table:
        """What a rule gives with some rows in the place of one atom; the others are as they are now, or as is told."""
        tables = [
            atom.of(rows if number == at else others(number, atom) if others is not None else self._state(atom))
            for number, atom in enumerate(rule.atoms)
        ]
        found = joined(tables, _variables(rule.output))
        return _columns(found, rule.output)

    def _lost(self, changes: Mapping[int, tuple[pa.Table, pa.Table]]) -> Iterator[tuple[str, pa.Table]]:
        """What may have been derived from rows of tables outside that went."""

        def before(_: int, atom: Atom) -> pa.Table:
            state = self._state(atom)
            return pa.concat_tables([state, changes[id(atom)][1]]) if id(atom) in changes else state

        for key, rules in self.rules.items():
            for rule in rules:
                for at, atom in enumerate(rule.atoms):
                    if id(atom) in changes:
                        yield key, self._with(rule, at, changes[id(atom)][1], before)

    def _gained(self, changes: Mapping[int, tuple[pa.Table, pa.Table]]) -> Iterator[tuple[str, pa.Table]]:
        """What is derived from rows of tables outside that came."""
        for key, rules in self.rules.items():
            for rule in rules:
                for at, atom in enumerate(rule.atoms):
                    if id(atom) in changes:
                        yield key, self._with(rule, at, changes[id(atom)][0])

    def _derivations(self, rule: Conjunction, wanted: pa.Table) -> pa.Table:
        """How a rule derives wanted rows: their columns and ranks, and the highest rank that each way needs."""
        tables = [named(wanted, enumerate(rule.output), RANK)]
        ranks = []
        for number, atom in enumerate(rule.atoms):
            state = self._state(atom)
            if atom.member is None:
                tables.append(atom.of(state))
                continue
            ranks.append(f"k{number}")
            renamed = state.rename_columns([*state.column_names[:-1], ranks[-1]])
            tables.append(atom.of(renamed, ranks[-1]))
        found = joined(tables, [*_variables(rule.output), RANK, *ranks])
        # What comes from tables outside alone needs nothing.
        nothing = pa.chunked_array([pa.repeat(pa.scalar(0, pa.int64()), found.num_rows)])
        highest = pc.max_element_wise(nothing, *(found[name] for name in ranks))
        return _columns(found, rule.output).append_column(RANK, found[RANK]).append_column("needs", highest)

    # --- retract -----------------------------------------------------------------------------------

    def retract(self, lost: Mapping[str, Sequence[pa.Table]]) -> None:
        """Take away what is no longer held up."""
        pending = {
            key: among(self.rows[key].now, distinct(pa.concat_tables(those)), self.rows[key].keys)
            for key, those in lost.items()
        }
        went, before = 0, sum(rows.size for rows in self.rows.values())
        while any(those.num_rows for those in pending.values()):
            begin = time.monotonic()
            fallen = {key: self._unsupported(key, those) for key, those in pending.items() if those.num_rows}
            went += sum(those.num_rows for those in fallen.values())
            if too_many(went, before):
                raise TooManyGone
            shaken = {key: self._held_up_by(key, fallen) for key in self.rules}
            for key, those in fallen.items():
                self.rows[key].take(those)
            pending = {key: among(those, self.rows[key].now, self.rows[key].keys) for key, those in shaken.items()}
            counts = {rows.name: fallen[key].num_rows if key in fallen else 0 for key, rows in self.rows.items()}
            self.machine.retracted(counts, begin)

    def _unsupported(self, key: str, candidates: pa.Table) -> pa.Table:
        rows = self.rows[key]
        left = without(candidates, self._given_elsewhere[key], rows.keys)
        for rule in self.rules[key]:
            if left.num_rows:
                found = self._derivations(rule, left)
                left = without(left, found.filter(pc.less(found["needs"], found[RANK])), rows.keys)
        return left

    def _held_up_by(self, key: str, fallen: Mapping[str, pa.Table]) -> pa.Table:
        """Rows of a member, with ranks, of higher rank than a row that fell and that they were derived from."""
        rows, found = self.rows[key], []
        for rule in self.rules[key]:
            for at, atom in enumerate(rule.atoms):
                those = fallen.get(atom.member) if atom.member is not None else None
                if those is None or not those.num_rows:
                    continue
                tables = [
                    one.of(self._state(one))
                    if number != at
                    else one.of(those.rename_columns([*those.column_names[:-1], "low"]), "low")
                    for number, one in enumerate(rule.atoms)
                ]
                derived = joined(tables, [*_variables(rule.output), "low"])
                found.append(_columns(derived, rule.output).append_column("low", derived["low"]))
        if not found:
            return rows.now.slice(0, 0)
        every = pa.concat_tables(found).group_by(rows.keys).aggregate([("low", "min")])
        those = rows.now.join(every, rows.keys, join_type="inner")
        return those.filter(pc.greater(those[RANK], those["low_min"])).select(rows.now.column_names)

    def _again(self) -> Iterator[tuple[str, pa.Table]]:
        """What can be derived of the rows that went, from what stays."""
        for key, rows in self.rows.items():
            if not rows.gone:
                continue
            gone = pa.concat_tables(rows.gone)
            yield key, among(self._given_elsewhere[key], gone, rows.keys)
            for rule in self.rules[key]:
                yield key, self._derivations(rule, gone).select(rows.keys)

    # --- derive ------------------------------------------------------------------------------------

    def derive(self, seeds: Mapping[str, Sequence[pa.Table]]) -> Mapping[str, Sequence[str]] | None:
        """Add what follows from some rows, pass by pass, until nothing new does.

        If there is too much, the machine gets what was found, and SQL of the seeds that were not added is returned.
        """
        machine, first = self.machine, seeds
        while True:
            begin, counts = time.monotonic(), {}
            for key, rows in self.rows.items():
                read = dict(machine.consumed.get(key, {}))
                try:
                    found = [one for one in (*first.get(key, ()), *self._following(key)) if one.num_rows]
                    counts[rows.name] = self._add(rows, found) if found else 0
                except NotNear:
                    machine.consumed[key] = read
                    # The pass goes on there, and is noted once, with what came of it here.
                    machine.begun = counts
                    done = [other for other, each in self.rows.items() if each.name in counts]
                    return self._left_to_spark({other: those for other, those in first.items() if other not in done})
            first = {}
            if machine.passed("derive", counts, begin):
                break
            if machine.is_due():
                self.give_back()
                machine.after_pass()
            if sum(rows.size for rows in self.rows.values()) > MOST_FOUND:
                return self._left_to_spark({})
        self.give_back()
        for rows in self.rows.values():
            rows.tell()
        return None

    def _left_to_spark(self, seeds: Mapping[str, Sequence[pa.Table]]) -> dict[str, list[str]]:
        self.give_back()
        sqls = {}
        for key, those in seeds.items():
            rows = self.rows[key]
            views = [rows.view(one.rename_columns(rows.names)) for one in those if one.num_rows]
            sqls[key] = [f"SELECT * FROM {quoted(view)}" for view in views]
        return sqls

    def _following(self, key: str) -> Iterator[pa.Table]:
        """What follows for a member from the rows that came since it last looked."""
        seen = self.machine.consumed.setdefault(key, {})
        upto = {other: seen.get(other, 0) for other in self.rows[key].rows.member.reads}
        for other in upto:
            seen[other] = self.machine.rank
        new = {other: self.rows[other].since(rank) for other, rank in upto.items()}
        for rule in self.rules[key]:
            for at, atom in enumerate(rule.atoms):
                if atom.member is None or not new[atom.member].num_rows:
                    continue

                def state(number: int, one: Atom, at: int = at) -> pa.Table:
                    # What two new rows derive together is found once: those before are taken as they were.
                    if one.member is not None and number < at:
                        return self.rows[one.member].upto(upto[one.member])
                    return self._state(one)

                yield self._with(rule, at, new[atom.member], state)

    def _add(self, rows: NearRows, found: Sequence[pa.Table]) -> int:
        self.machine.rank += 1
        return rows.add(distinct(pa.concat_tables(found)), self.machine.rank)

    def give_back(self) -> None:
        """Let the machine have what was found."""
        self.has_given = True
        for rows in self.rows.values():
            rows.give_back()


def _variables(numbers: Sequence[int]) -> list[str]:
    return list(dict.fromkeys(f"v{number}" for number in numbers))


def _columns(found: pa.Table, output: Sequence[int]) -> pa.Table:
    return pa.table({f"c{at}": found[f"v{variable}"] for at, variable in enumerate(output)})


def _refuse_nulls(rows: pa.Table) -> None:
    if any(column.null_count for column in rows.columns):
        raise NotNear


def near_machine(
    machine: Machine, lines: Callable[[str], pa.Table | None], rows_outside: int | None
) -> NearMachine | None:
    """The same machine with all rows in this process; None if its rules are more than joins, or there is too much.

    Args:
        machine: Not yet begun.
        lines: The rows of a member before, with their ranks; None if they are not known.
        rows_outside: How many rows the tables outside have, if that is known.
    """
    if rows_outside is None or rows_outside + sum(rows.size for rows in machine.rows.values()) > MOST_HERE:
        return None
    if any(rows.member.best is not None or not rows.is_plain for rows in machine.rows.values()):
        return None
    told = _conjunctions(machine)
    if told is None:
        return None
    here = {}
    for key, rows in machine.rows.items():
        before = lines(key) if rows.base is not None else None
        if rows.base is not None and before is None:
            return None
        here[key] = NearRows(rows, before)
    if any(column.null_count for rows in here.values() for column in rows.now.columns):
        return None
    return NearMachine(machine, *told, here)


def _conjunctions(machine: Machine) -> tuple[dict[str, list[Conjunction]], dict[str, list[Rule]]] | None:
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
