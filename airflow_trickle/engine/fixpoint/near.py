"""The fixed point of rules that only follow equal values, with all rows in this process.

It does what `machine` does, step by step and with the same ranks, on Arrow tables: a pass over few rows then takes some
milliseconds, where the least that Spark can do takes a hundred. Spark reads what is outside of the cycle, computes
rules without members, and gets the result to publish it. When the rows become too many, it goes on from there.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from airflow_trickle.engine.fixpoint.conjunction import Atom, Conjunction, conjunctions_of
from airflow_trickle.engine.fixpoint.joins import NotNear, among, distinct, joined, named, without
from airflow_trickle.engine.fixpoint.machine import Machine
from airflow_trickle.engine.fixpoint.near_outside import Change, Outside
from airflow_trickle.engine.fixpoint.near_rows import RANK, NearRows
from airflow_trickle.engine.fixpoint.retract import TooManyGone, too_many
from airflow_trickle.identifiers import quote
from airflow_trickle.tuning import tuning

log = logging.getLogger("airflow_trickle")


@dataclass
class NearMachine:
    """Does the work of a machine here.

    Attributes:
        machine: Whose rows they are; gets what is found.
        rules: By member: its rules that only follow equal values.
        rows: By member: its rows.
        outside: What is read from Spark.
    """

    machine: Machine
    rules: Mapping[str, Sequence[Conjunction]]
    rows: Mapping[str, NearRows]
    outside: Outside
    #: By member: what the other rules give, as everything is now; read before rows are taken away.
    given_elsewhere: Mapping[str, pa.Table] = field(default_factory=dict)
    #: Whether the machine has got some of what was found.
    has_given: bool = False

    def settle(self) -> Mapping[str, Sequence[str]] | None:
        """Bring all members to the fixed point, or as far as it can be done here; then with what Spark has to go on.

        Raises:
            NotNear: Spark has to do it from the beginning; nothing was given to the machine.
            TooManyGone: begin from nothing instead.
        """
        outside, change = self.outside, self.machine.change
        if change is None:
            seeds = {key: outside.computed(key) for key in self.rows}
            outside.read_tables()
            for key, rules in self.rules.items():
                more = (self._given(rule, map(self._state, rule.atoms)) for rule in rules if not rule.members)
                seeds[key] = self._gathered(chain(seeds[key], more))
            return self.derive(seeds)
        gained, lost = outside.moved_elsewhere(change)
        changes = outside.changes(change)
        outside.read_tables()
        self._gather(lost, self._lost(changes))
        if any(one.num_rows for those in lost.values() for one in those):
            # Later it would be too late to leave it to Spark.
            self.given_elsewhere = outside.given()
            self.retract(lost)
        self._gather(gained, chain(self._gained(changes), self._derivable_again()))
        return self.derive(gained)

    # --- memory ------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        """How many bytes are left for what a pass finds."""
        held = self.outside.nbytes + sum(
            int(one.nbytes) for one in (*self.rows.values(), *self.given_elsewhere.values())
        )
        return tuning().arrow_fixpoint_bytes - held

    def _gathered(self, tables: Iterable[pa.Table]) -> list[pa.Table]:
        """Tables that are computed one by one, as long as all that is here fits.

        Raises:
            NotNear: it does not.
        """
        found, room = [], self._room
        for one in tables:
            room -= one.nbytes
            if room < 0:
                raise NotNear
            if one.num_rows:
                found.append(one)
        return found

    def _gather(self, into: dict[str, list[pa.Table]], tables: Iterable[tuple[str, pa.Table]]) -> None:
        """The same for tables of several members, put to those that there are already."""
        room = self._room - sum(one.nbytes for those in into.values() for one in those)
        for key, one in tables:
            room -= one.nbytes
            if room < 0:
                raise NotNear
            into.setdefault(key, []).append(one)

    # --- joins -------------------------------------------------------------------------------------

    def _state(self, atom: Atom) -> pa.Table:
        return self.outside.table(atom) if atom.member is None else self.rows[atom.member].now

    def _given(self, rule: Conjunction, rows: Iterable[pa.Table]) -> pa.Table:
        """What a rule gives with some rows in the place of each atom."""
        tables = [atom.of(those) for atom, those in zip(rule.atoms, rows, strict=True)]
        return _columns(joined(tables, _variables(rule.output)), rule.output)

    def _lost(self, changes: Mapping[int, Change]) -> Iterator[tuple[str, pa.Table]]:
        """What may have been derived from rows of tables outside that went."""

        def before(atom: Atom) -> pa.Table:
            state = self._state(atom)
            return pa.concat_tables([state, changes[id(atom)].went]) if id(atom) in changes else state

        for key, rule, at in self._changed_places(changes):
            went = changes[id(rule.atoms[at])].went
            yield key, self._given(rule, (went if n == at else before(atom) for n, atom in enumerate(rule.atoms)))

    def _gained(self, changes: Mapping[int, Change]) -> Iterator[tuple[str, pa.Table]]:
        """What is derived from rows of tables outside that came."""
        for key, rule, at in self._changed_places(changes):
            came = changes[id(rule.atoms[at])].came
            yield key, self._given(rule, (came if n == at else self._state(atom) for n, atom in enumerate(rule.atoms)))

    def _changed_places(self, changes: Mapping[int, Change]) -> Iterator[tuple[str, Conjunction, int]]:
        """Where rules read tables outside that changed: the member, its rule, the number of the atom."""
        for key, rules in self.rules.items():
            for rule in rules:
                for at, atom in enumerate(rule.atoms):
                    if id(atom) in changes:
                        yield key, rule, at

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
        left = without(candidates, self.given_elsewhere[key], rows.keys)
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

    def _derivable_again(self) -> Iterator[tuple[str, pa.Table]]:
        """What can be derived of the rows that went, from what stays."""
        for key, rows in self.rows.items():
            if not rows.gone:
                continue
            gone = pa.concat_tables(rows.gone)
            yield key, among(self.given_elsewhere[key], gone, rows.keys)
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
                    found = self._gathered(chain(first.get(key, ()), self._following(key)))
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
            if sum(rows.size for rows in self.rows.values()) > tuning().arrow_fixpoint_rows or self._room < 0:
                return self._left_to_spark({})
        self.give_back()
        for rows in self.rows.values():
            rows.tell()
        return None

    def _left_to_spark(self, seeds: Mapping[str, Sequence[pa.Table]]) -> dict[str, list[str]]:
        log.info("The rows of the cycle no longer fit into the worker process, so Spark goes on with them.")
        self.give_back()
        sqls = {}
        for key, those in seeds.items():
            rows = self.rows[key]
            views = [rows.view(one.rename_columns(rows.names)) for one in those if one.num_rows]
            sqls[key] = [f"SELECT * FROM {quote(view)}" for view in views]
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
                # What two new rows derive together is found once: members before this place are taken as they were.
                left = (
                    self._state(one) if one.member is None else self.rows[one.member].upto(upto[one.member])
                    for one in rule.atoms[:at]
                )
                yield self._given(rule, (*left, new[atom.member], *map(self._state, rule.atoms[at + 1 :])))

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


def near_machine(
    machine: Machine, lines: Callable[[str, int], pa.Table | None], rows_outside: int | None
) -> NearMachine | None:
    """The same machine with all rows in this process; None if its rules are more than joins, or there is too much.

    Args:
        machine: Not yet begun.
        lines: The rows of a member before, with their ranks; None if they are not known or take more bytes than that.
        rows_outside: How many rows the tables outside have, if that is known.
    """
    most = tuning().arrow_fixpoint_input_rows
    if rows_outside is None or rows_outside + sum(rows.size for rows in machine.rows.values()) > most:
        return None
    if any(rows.member.best is not None or not rows.is_plain for rows in machine.rows.values()):
        return None
    told = conjunctions_of(machine)
    if told is None:
        return None
    rules, others = told
    here: dict[str, NearRows] = {}
    most_bytes = tuning().arrow_fixpoint_bytes
    for key, rows in machine.rows.items():
        room = most_bytes - sum(other.nbytes for other in here.values())
        before = lines(key, room) if rows.base is not None else None
        if rows.base is not None and before is None:
            return None
        here[key] = NearRows(rows, before)
    if any(column.null_count for rows in here.values() for column in rows.now.columns):
        return None
    return NearMachine(machine, rules, here, Outside(machine, rules, others, here, most, most_bytes))
