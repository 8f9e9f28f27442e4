"""The least fixed point of rules, from the one before: take away what nothing holds up, then derive what is new.

    retract:  C = rows of which a derivation went;   G = those of C that no rows of smaller rank derive;   gone += G
              C' = rows of higher rank that a row of G derives;   again, until G is empty
    derive:   N = (what the change of the tables outside adds  +  rows of `gone` that can be derived)  -  rows
              N' = what N derives  -  rows;   again, until N is empty

What stays after the first part is held up by rows of smaller rank down to the tables outside, so it belongs to the
fixed point whatever else went; rows in a circle have no smallest rank to begin with, and go. What is missing of the
fixed point is then found by the second part. From nothing, only the second part is needed.

Members are done in one order, each seeing what those before it have got in the same pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Column, Views
from airflow_trickle.engine.fixpoint.adding import add
from airflow_trickle.engine.fixpoint.retract import RanksUnknown, Retraction
from airflow_trickle.engine.fixpoint.rows import Rows
from airflow_trickle.engine.fixpoint.rules import Member, Rule
from airflow_trickle.engine.fixpoint.sql import RuleSql, World
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import fold, quote
from airflow_trickle.results import Iteration

#: Marks rows of which a derivation went.
LOST = f"{RESERVED}lost"
#: After so many passes it is likely that many follow.
_MANY_FOLLOW = 4


class NotSettled(Exception):
    """The cap was reached while rows still came."""


@dataclass
class Machine:
    """The members of a cycle on their way to the fixed point.

    Attributes:
        bench: Where SQL is run.
        keys: Identifier -> key of the member.
        rows: The rows of every member, in the order in which they are done.
        world: The tables outside as they are now.
        change: The same before and after; None if everything is derived from nothing.
        cap: How many passes there may be.
        rank: The highest rank so far.
        note: Is told of every pass.
    """

    bench: SparkBench
    keys: Mapping[str, str]
    rows: dict[str, Rows]
    world: World
    change: World | None
    cap: int
    rank: int = 0
    note: Callable[[Iteration], None] = lambda _: None
    trace: list[Iteration] = field(default_factory=list)
    #: Is called after every pass that adds rows, when nothing is half done.
    after_pass: Callable[[], None] = lambda: None
    #: Whether that would do something now.
    is_due: Callable[[], bool] = lambda: False
    #: Is asked before rows are taken away: why it is better to begin from nothing; empty if it is not.
    why_anew: Callable[[], str] = lambda: ""
    #: By member, and member that it reads: up to which rank it has been read.
    consumed: dict[str, dict[str, int]] = field(default_factory=dict)
    #: By name: what members have got already of a pass that was begun elsewhere and ends here.
    begun: dict[str, int] = field(default_factory=dict)

    def settle(self) -> None:
        """Bring all members to the fixed point.

        Raises:
            NotSettled: there were too many passes.
            TooManyGone: begin from nothing instead.
        """
        if self.change is None:
            self.derive({key: self.whole_of(rows.member) for key, rows in self.rows.items()})
            return
        moved, retraction = self._moved(self.change), Retraction(self)
        if moved.lost:
            if why := self.why_anew():
                raise RanksUnknown(why)
            retraction.take(moved.lost)
            gained = self._moved(self.change).gained if self._something_went else moved.gained
        else:
            gained = moved.gained
        again = {key: retraction.derivable_again(rows) for key, rows in self.rows.items() if rows.gone}
        seeds = {key: [*gained.get(key, ()), *again.get(key, ())] for key in self.rows}
        self.derive(seeds)

    @property
    def _something_went(self) -> bool:
        return any(rows.gone for rows in self.rows.values())

    # --- derive ------------------------------------------------------------------------------------

    def derive(self, seeds: Mapping[str, Sequence[str]]) -> None:
        """Add what follows from some rows, pass by pass, until nothing new does.

        Args:
            seeds: By member: SQL of the rows to begin with.
        """
        first: Mapping[str, Sequence[str]] = seeds
        passes = 0
        while True:
            begin, counts = time.monotonic(), {}
            for key, rows in self.rows.items():
                found = [*first.get(key, ()), *self._following(rows)]
                name = rows.member.name
                counts[name] = self.begun.pop(name, 0)
                if found:
                    self.rank += 1
                    counts[name] += add(rows, found, self.rank)
            first = {}
            if self.passed("derive", counts, begin):
                return
            self.after_pass()
            passes += 1
            if passes == _MANY_FOLLOW:
                for views in self.world.tables.values():
                    self.bench.bring_near(views.new)

    def passed(self, phase: str, counts: dict[str, int], begin: float) -> bool:
        """Note a pass; true if it was the last."""
        seconds = round(time.monotonic() - begin, 3)
        one = Iteration(number=len(self.trace) + 1, phase=phase, changes=counts, seconds=seconds)
        self.trace.append(one)
        self.note(one)
        # Only deriving may go on for ever: what is retracted becomes less.
        if one.total and sum(each.phase == phase for each in self.trace) >= self.cap:
            raise NotSettled
        return not one.total

    def retracted(self, counts: dict[str, int], begin: float) -> None:
        """Note a pass that took rows away."""
        one = Iteration(
            number=len(self.trace) + 1, phase="retract", changes=counts, seconds=round(time.monotonic() - begin, 3)
        )
        self.trace.append(one)
        self.note(one)

    def _following(self, rows: Rows) -> list[str]:
        """What follows for a member from the rows that came since it last looked."""
        member, seen = rows.member, self.consumed.setdefault(rows.member.key, {})
        views: dict[str, Views] = {}
        for key in sorted(member.reads):
            upto = seen.get(key, 0)
            new = self.rows[key].since(upto)
            views[key] = self._states(self.rows[key], upto, new)
            seen[key] = self.rank
        if all(one.delta is None for one in views.values()):
            return []
        found = []
        for rule in member.rules:
            if any(views[key].delta is not None for key in rule.members):
                found += [rows.typed(sql, weighted=True) for sql in self.sql_of(rule, self.world, views).changes()]
        return found

    def _states(self, rows: Rows, upto: int, new: str | None) -> Views:
        types = {fold(column.name): column.type for column in rows.columns}
        after = self.later(rows.now())
        if new is None:
            return Views(after, after, None, types=types)
        travels = [part for part in rows.parts if part.high > upto]
        one = travels[0] if len(travels) == 1 and travels[0].low > upto else None
        delta = one.view if one is not None else self.bench.view(new, f"the rows that came to {rows.member.name}")
        return Views(self.later(rows.now(upto)), after, delta, grows=True, types=types)

    def later(self, sql: str) -> str:
        """The name of a query, which is made when it is first read."""
        return self.bench.promise(lambda: self.bench.frame(sql))

    def sql_of(
        self,
        rule: Rule,
        world: World,
        members: Mapping[str, Views],
        among: tuple[str, Sequence[Column]] | None = None,
    ) -> RuleSql:
        """A rule over states of tables and members."""
        return RuleSql(rule, world, members, self.keys, among)

    def whole_of(self, member: Member, rules: Sequence[Rule] | None = None) -> list[str]:
        """SQL of what a member has without any row of the cycle, by all its rules or by some."""
        rows = self.rows[member.key]
        first = [rule for rule in (member.rules if rules is None else rules) if not rule.members]
        return [rows.typed(self.sql_of(rule, self.world, {}).whole(), weighted=False) for rule in first]

    # --- what moved --------------------------------------------------------------------------------

    def _moved(self, change: World) -> _Moved:
        """What the change of the tables outside adds and takes, with the rows of the cycle as they are."""
        moved = _Moved()
        for key, rows in self.rows.items():
            now = {other: self.as_they_are(other) for other in rows.member.reads}
            for rule in rows.member.rules:
                view = self.moved_by(rows, rule, change, now)
                if view is None:
                    continue
                listed = ", ".join(rows.names)
                moved.gained.setdefault(key, []).append(f"SELECT {listed} FROM {quote(view)} WHERE {WEIGHT} > 0")
                if not self._only_gained(view):
                    moved.lost.setdefault(key, []).append(f"SELECT {listed} FROM {quote(view)} WHERE {LOST} = 1")
        return moved

    def moved_by(self, rows: Rows, rule: Rule, change: World, now: Mapping[str, Views]) -> str | None:
        """The view of what one rule gives more or less, and whether a derivation went; None if there is nothing."""
        terms = [rows.typed(sql, weighted=True) for sql in self.sql_of(rule, change, now).changes()]
        if not terms:
            return None
        listed = ", ".join(rows.names)
        # Terms may cancel out: what comes is their sum, but a derivation that goes counts by itself.
        return self.bench.keep(
            f"SELECT {listed}, sum({WEIGHT}) AS {WEIGHT}, max(IF({WEIGHT} < 0, 1, 0)) AS {LOST} "
            f"FROM ({' UNION ALL '.join(terms)}) GROUP BY {listed}",
            f"what the change adds to {rows.member.name} and takes from it",
        )

    def _only_gained(self, view: str) -> bool:
        here = self.bench.rows_of(view)
        if here is None:
            return bool(self.bench.frame(f"SELECT 1 FROM {quote(view)} WHERE {LOST} = 1").isEmpty())
        return not any(here[LOST].to_pylist())

    def as_they_are(self, key: str) -> Views:
        """The rows of a member, which nothing changes."""
        rows = self.rows[key]
        view = self.later(rows.now())
        return Views(view, view, None, types={fold(column.name): column.type for column in rows.columns})


@dataclass
class _Moved:
    """By member: SQL of what comes and of what may have gone, because of the tables outside."""

    gained: dict[str, list[str]] = field(default_factory=dict)
    lost: dict[str, list[str]] = field(default_factory=dict)
