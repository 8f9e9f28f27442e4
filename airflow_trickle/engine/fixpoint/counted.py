"""A cycle in which copies count on the way round: every row has a number of derivations, which is added up.

    N = what the change of the tables outside gives, with signs;   N' = what N gives, with signs;   until N is empty

Where the number of derivations is finite, no row takes part in its own derivation, so that what goes can be followed
step by step like what comes. Only never both at once: a row that comes could hold up one that goes, in a circle. So
first everything goes that goes, then everything comes that comes. Where the number is not finite it grows for ever, and
the cap says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Column, Views
from airflow_trickle.engine.fixpoint.machine import NotSettled
from airflow_trickle.engine.fixpoint.rules import Member
from airflow_trickle.engine.fixpoint.sql import RuleSql, World
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import fold, quote
from airflow_trickle.results import Iteration
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Bag:
    """The rows of one member, copies included, while a cycle is refreshed.

    Attributes:
        spark: The session.
        bench: Where views are made.
        member: Whose rows they are.
        columns: Its columns.
        base: The view of the rows before; None if there were none.
        lines: The view of the same rows with their counts as weights, if that is how they are kept.
        parts: Views of weighted rows: what came and went.
    """

    spark: SparkSession
    bench: SparkBench
    member: Member
    columns: Sequence[Column]
    base: str | None = None
    lines: str | None = None
    parts: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The columns, ready for SQL."""
        return [quote(column.name) for column in self.columns]

    def typed(self, sql: str, *, weighted: bool) -> str:
        """Rows of a rule in the types of the member, with weights."""
        plain = [f"{RESERVED}c{number}" for number in range(len(self.columns))]
        shown = [
            f"CAST({name} AS {column.type}) AS {quote(column.name)}"
            for name, column in zip(plain, self.columns, strict=True)
        ]
        given = [*plain, WEIGHT] if weighted else plain
        weight = WEIGHT if weighted else f"CAST(1 AS BIGINT) AS {WEIGHT}"
        return f"SELECT {', '.join([*shown, weight])} FROM ({sql}) AS {RESERVED}q({', '.join(given)})"

    def added_up(self, sql: str) -> str:
        """Weighted rows, each once; those that cancel out are gone."""
        listed = ", ".join(self.names)
        return f"SELECT {listed}, sum({WEIGHT}) AS {WEIGHT} FROM ({sql}) GROUP BY {listed} HAVING sum({WEIGHT}) <> 0"

    def net(self) -> str | None:
        """By which rows the member is another one now; None if none moved."""
        if not self.parts:
            return None
        listed = ", ".join([*self.names, WEIGHT])
        return self.added_up(" UNION ALL ".join(f"SELECT {listed} FROM {quote(part)}" for part in self.parts))

    def now(self, without_last: bool = False) -> str:
        """The rows as they are, each as often as it is there; or as they were before the last part came."""
        listed = ", ".join(self.names)
        parts = self.parts[:-1] if without_last else self.parts
        found = []
        if self.base is not None:
            if not parts:
                return f"SELECT {listed} FROM {quote(self.base)}"
            found.append(f"SELECT {listed}, CAST(1 AS BIGINT) AS {WEIGHT} FROM {quote(self.base)}")
        found += [f"SELECT {listed}, {WEIGHT} FROM {quote(part)}" for part in parts]
        if not found:
            nulls = ", ".join(f"CAST(NULL AS {column.type}) AS {quote(column.name)}" for column in self.columns)
            return f"SELECT {nulls} WHERE false"
        wrong = f"CAST(raise_error('a row of {self.member.key.replace(chr(39), '')} is there less than never') AS INT)"
        copies = f"IF({WEIGHT} < 0, {wrong}, CAST({WEIGHT} AS INT))"
        counted = self.added_up(" UNION ALL ".join(found))
        return f"SELECT {listed} FROM ({counted}) LATERAL VIEW explode(array_repeat(0, {copies})) AS {RESERVED}n"

    def add(self, sql: str) -> int:
        """Add what some weighted rows come to; returns how many copies come and go."""
        view = self.bench.keep(self.added_up(sql), f"what comes to {self.member.name} and goes")
        if view is None:
            return 0
        self.parts.append(view)
        here = self.bench.rows_of(view)
        if here is not None:
            return int(sum(abs(weight) for weight in here[WEIGHT].to_pylist()))
        return int(self.bench.frame(f"SELECT sum(abs({WEIGHT})) FROM {quote(view)}").collect()[0][0])

    def fold(self) -> None:
        """Few parts: the older ones become one."""
        if len(self.parts) <= tuning().fixpoint_union_parts:
            return
        listed = ", ".join([*self.names, WEIGHT])
        older, last = self.parts[:-1], self.parts[-1:]
        sql = self.added_up(" UNION ALL ".join(f"SELECT {listed} FROM {quote(part)}" for part in older))
        one = self.bench.keep(sql, f"what came to {self.member.name} and went")
        self.parts = [*([one] if one is not None else []), *last]


@dataclass
class Counting:
    """The members of a cycle on their way to the fixed point, by numbers of derivations.

    Attributes:
        bench: Where SQL is run.
        keys: Identifier -> key of the member.
        bags: The rows of every member.
        cap: How many passes there may be.
        note: Is told of every pass.
    """

    bench: SparkBench
    keys: Mapping[str, str]
    bags: dict[str, Bag]
    cap: int
    note: Callable[[Iteration], None] = lambda _: None
    trace: list[Iteration] = field(default_factory=list)
    #: Is called after every pass by which rows come, with the members that it changed.
    after_pass: Callable[[set[str]], None] = lambda _: None

    def from_nothing(self, world: World) -> None:
        """Everything is derived."""
        first = {}
        for key, bag in self.bags.items():
            rules = [rule for rule in bag.member.rules if not rule.members]
            first[key] = [bag.typed(RuleSql(rule, world, {}, self.keys).whole(), weighted=False) for rule in rules]
        self._follow(world, first, "derive")

    def from_before(self, change: World, now: World, phase: str) -> None:
        """What follows from a change of the tables outside, in which all that moves comes, or all goes."""
        first = {}
        for key, bag in self.bags.items():
            members = {other: self._unmoved(other) for other in bag.member.reads}
            first[key] = [
                bag.typed(sql, weighted=True)
                for rule in bag.member.rules
                for sql in RuleSql(rule, change, members, self.keys).changes()
            ]
        self._follow(now, first, phase)

    def _follow(self, world: World, first: Mapping[str, Sequence[str]], phase: str) -> None:
        begin, counts = time.monotonic(), {}
        moved: set[str] = set()
        for key, bag in self.bags.items():
            counts[bag.member.name] = bag.add(" UNION ALL ".join(first[key])) if first[key] else 0
            if counts[bag.member.name]:
                moved.add(key)
        if not self._passed(phase, counts, begin):
            self.go_on(world, moved, phase)

    def go_on(self, world: World, moved: set[str], phase: str) -> None:
        """Follow what the last pass has changed, until nothing changes."""
        while True:
            if phase == "derive":
                self.after_pass(moved)
            begin, counts = time.monotonic(), {}
            following: set[str] = set()
            # All members look at what the pass before has changed, so that each change is looked at once.
            found = {key: self._following(bag, world, moved) for key, bag in self.bags.items()}
            for bag in self.bags.values():
                bag.fold()
            for key, bag in self.bags.items():
                counts[bag.member.name] = bag.add(" UNION ALL ".join(found[key])) if found[key] else 0
                if counts[bag.member.name]:
                    following.add(key)
            moved = following
            if self._passed(phase, counts, begin):
                return

    def _following(self, bag: Bag, world: World, moved: set[str]) -> list[str]:
        found = []
        for rule in bag.member.rules:
            if moved.isdisjoint(rule.members):
                continue
            members = {key: self._moved(key) if key in moved else self._unmoved(key) for key in rule.members}
            found += [bag.typed(sql, weighted=True) for sql in RuleSql(rule, world, members, self.keys).changes()]
        return found

    def _unmoved(self, key: str) -> Views:
        bag = self.bags[key]
        sql = bag.now()
        view = self.bench.promise(lambda: self.bench.frame(sql))
        return Views(view, view, None, types={fold(column.name): column.type for column in bag.columns})

    def _moved(self, key: str) -> Views:
        bag = self.bags[key]
        before, after = bag.now(without_last=True), bag.now()
        return Views(
            self.bench.promise(lambda: self.bench.frame(before)),
            self.bench.promise(lambda: self.bench.frame(after)),
            bag.parts[-1],
            types={fold(column.name): column.type for column in bag.columns},
        )

    def _passed(self, phase: str, counts: dict[str, int], begin: float) -> bool:
        seconds = round(time.monotonic() - begin, 3)
        one = Iteration(number=len(self.trace) + 1, phase=phase, changes=counts, seconds=seconds)
        self.trace.append(one)
        self.note(one)
        # Only deriving may go on for ever: what goes was derived in finitely many ways.
        if one.total and phase == "derive" and sum(each.phase == phase for each in self.trace) >= self.cap:
            raise NotSettled
        return not one.total
