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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Column, Views
from airflow_trickle.engine.fetch import fetch
from airflow_trickle.engine.fixpoint.rows import Rows, is_few
from airflow_trickle.engine.fixpoint.rules import Member, Rule
from airflow_trickle.engine.fixpoint.sql import RuleSql, World
from airflow_trickle.engine.zset import RESERVED, WEIGHT, quoted
from airflow_trickle.results import Iteration

#: When more than this share of the rows has to go, it is quicker to begin from nothing.
TOO_MANY_GONE = 0.25
#: Marks rows of which a derivation went.
LOST = f"{RESERVED}lost"
#: After so many passes it is likely that many follow.
_MANY_FOLLOW = 4
#: So few rows derive so few that it does not matter whether some come several times.
_VERY_FEW = 5_000
#: So many rows may go in any case.
_ALWAYS = 1000


def too_many(went: int, before: int) -> bool:
    """Whether so many of the rows before went that it is better to begin from nothing."""
    return went > max(_ALWAYS, TOO_MANY_GONE * before)


class NotSettled(Exception):
    """The cap was reached while rows still came."""


class RanksUnknown(Exception):
    """A row lost support, and what else holds it up cannot be told, or not quickly; the text says why."""


class TooManyGone(Exception):
    """So many rows go that it is better to begin from nothing."""


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
        moved = self._moved(self.change)
        if moved.lost:
            if why := self.why_anew():
                raise RanksUnknown(why)
            self.retract(moved.lost)
            gained = self._moved(self.change).gained if self._something_went else moved.gained
        else:
            gained = moved.gained
        again = {key: self._derivable_again(rows) for key, rows in self.rows.items() if rows.gone}
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
                counts[name] = self.begun.pop(name, 0) + (self._add(rows, found) if found else 0)
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
                found += [rows.typed(sql, weighted=True) for sql in self._sql(rule, self.world, views).changes()]
        return found

    def _states(self, rows: Rows, upto: int, new: str | None) -> Views:
        types = {column.name.casefold(): column.type for column in rows.columns}
        after = self._later(rows.now())
        if new is None:
            return Views(after, after, None, types=types)
        travels = [part for part in rows.parts if part.high > upto]
        one = travels[0] if len(travels) == 1 and travels[0].low > upto else None
        delta = one.view if one is not None else self.bench.view(new, f"the rows that came to {rows.member.name}")
        return Views(self._later(rows.now(upto)), after, delta, grows=True, types=types)

    def _later(self, sql: str) -> str:
        """The name of a query, which is made when it is first read."""
        return self.bench.promise(lambda: self.bench.frame(sql))

    def _sql(
        self,
        rule: Rule,
        world: World,
        members: Mapping[str, Views],
        among: tuple[str, Sequence[Column]] | None = None,
    ) -> RuleSql:
        return RuleSql(rule, world, members, self.keys, among)

    def whole_of(self, member: Member, rules: Sequence[Rule] | None = None) -> list[str]:
        """SQL of what a member has without any row of the cycle, by all its rules or by some."""
        rows = self.rows[member.key]
        first = [rule for rule in (member.rules if rules is None else rules) if not rule.members]
        return [rows.typed(self._sql(rule, self.world, {}).whole(), weighted=False) for rule in first]

    def _add(self, rows: Rows, found: Sequence[str]) -> int:
        """Add what is new of some rows; returns how many were."""
        self.rank += 1
        listed = ", ".join(rows.names)
        every = " UNION ALL ".join(f"SELECT {listed} FROM ({sql})" for sql in found)
        if rows.member.best is not None:
            return self._improve(rows, every)
        sql = f"SELECT DISTINCT {listed} FROM ({every})"
        if is_few(rows.latest):
            # Each row once: that is a job of its own on Spark, and nothing for few rows here.
            alone = rows.latest <= _VERY_FEW and rows.is_plain
            here = fetch(self.bench.frame(every if alone else sql))
            if here is not None:
                here = here.group_by(here.column_names).aggregate([]) if alone else here
                if not here.num_rows:
                    rows.latest = 0
                    return 0
                new = rows.is_new(here)
                if new is None:
                    sql = f"SELECT * FROM {quoted(self.bench.give(here))}"
                    new = fetch(self.bench.frame(_unknown(rows, sql, few=True)))
                if new is not None:
                    rows.add_rows(new, self.rank)
                    return int(new.num_rows)
        return rows.add_frame(self.bench.frame(_unknown(rows, sql, few=False)), self.rank)

    def _improve(self, rows: Rows, every: str) -> int:
        """Of a member with best values: take over what is better than what there is."""
        best = rows.member.best
        assert best is not None  # noqa: S101 - asked before
        keys, value = rows.identity, rows.names[best.column]
        shown = ", ".join([*keys, f"{best.way}({value}) AS {value}"])
        listed = ", ".join(rows.names)
        group = f" GROUP BY {', '.join(keys)}" if keys else " HAVING count(*) > 0"
        found = f"SELECT {listed} FROM (SELECT {shown} FROM ({every}){group})"
        sign = "<" if best.way == "min" else ">"
        d, s = f"{RESERVED}d", f"{RESERVED}s"
        worse = f"({d}.{value} {sign} {s}.{value} OR ({s}.{value} IS NULL AND {d}.{value} IS NOT NULL))"
        same = rows.same(d, s, keys)
        better = self.bench.keep(
            f"SELECT {d}.* FROM ({found}) AS {d} WHERE NOT EXISTS "
            f"(SELECT 1 FROM ({rows.now()}) AS {s} WHERE {same} AND NOT coalesce({worse}, false))",
            f"better values of {rows.member.name}",
        )
        if better is None:
            rows.latest = 0
            return 0
        fresh = f"(SELECT 1 FROM {quoted(better)} AS {d} WHERE {same})"
        if rows.base is not None:
            base = rows._staying(f"SELECT {listed} FROM {quoted(rows.base)}")
            gone = self.bench.keep(
                f"SELECT * FROM ({base}) AS {s} WHERE EXISTS {fresh}", f"rows of {rows.member.name} that are bettered"
            )
            if gone is not None:
                rows.gone.append(gone)
        parts = [f"SELECT * FROM {quoted(part.view)} AS {s} WHERE NOT EXISTS {fresh}" for part in rows.parts]
        parts.append(f"SELECT {listed}, CAST({self.rank} AS BIGINT) AS {WEIGHT} FROM {quoted(better)}")
        rows.replace_parts(self.bench.frame(" UNION ALL ".join(parts)))
        rows.latest = self.bench.frame(f"SELECT * FROM {quoted(better)}").count()
        return rows.latest

    # --- retract -----------------------------------------------------------------------------------

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
                moved.gained.setdefault(key, []).append(f"SELECT {listed} FROM {quoted(view)} WHERE {WEIGHT} > 0")
                if not self._only_gained(view):
                    moved.lost.setdefault(key, []).append(f"SELECT {listed} FROM {quoted(view)} WHERE {LOST} = 1")
        return moved

    def moved_by(self, rows: Rows, rule: Rule, change: World, now: Mapping[str, Views]) -> str | None:
        """The view of what one rule gives more or less, and whether a derivation went; None if there is nothing."""
        terms = [rows.typed(sql, weighted=True) for sql in self._sql(rule, change, now).changes()]
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
            return bool(self.bench.frame(f"SELECT 1 FROM {quoted(view)} WHERE {LOST} = 1").isEmpty())
        return not any(here[LOST].to_pylist())

    def as_they_are(self, key: str) -> Views:
        """The rows of a member, which nothing changes."""
        rows = self.rows[key]
        view = self._later(rows.now())
        return Views(view, view, None, types={column.name.casefold(): column.type for column in rows.columns})

    def retract(self, lost: Mapping[str, Sequence[str]]) -> None:
        """Take away what is no longer held up, pass by pass.

        Args:
            lost: By member: SQL of rows that may have lost a derivation.
        """
        if any(rows.member.best is not None for rows in self.rows.values()):
            # What was derived from a value that was bettered since may have a smaller rank than the better one.
            raise RanksUnknown("a best value may have lost what it was derived from")
        if any(rows.lines is None for rows in self.rows.values()):
            raise RanksUnknown("the ranks of the rows are not known, or no longer")
        carried = all(self._is_carried(rule) for rows in self.rows.values() for rule in rows.member.rules)
        pending = {key: view for key, sqls in lost.items() if (view := self._candidates(key, sqls)) is not None}
        went, before = 0, sum(rows.size for rows in self.rows.values())
        while pending:
            begin = time.monotonic()
            below = None if carried else self._lowest(pending)
            fallen: dict[str, str] = {}
            for key, view in pending.items():
                unsupported = self._unsupported(self.rows[key], view, below)
                if unsupported is not None:
                    fallen[key] = unsupported
            counts = {rows.member.name: self._count(fallen.get(key)) for key, rows in self.rows.items()}
            went += sum(counts.values())
            if too_many(went, before):
                raise TooManyGone
            pending = self._next(pending, fallen, below)
            self.retracted(counts, begin)

    def retracted(self, counts: dict[str, int], begin: float) -> None:
        """Note a pass that took rows away."""
        one = Iteration(
            number=len(self.trace) + 1, phase="retract", changes=counts, seconds=round(time.monotonic() - begin, 3)
        )
        self.trace.append(one)
        self.note(one)

    def _is_carried(self, rule: Rule) -> bool:
        return not rule.members or (not rule.deep and len(rule.reads) == 1)

    def _count(self, view: str | None) -> int:
        if view is None:
            return 0
        here = self.bench.rows_of(view)
        return here.num_rows if here is not None else self.bench.frame(f"SELECT 1 FROM {quoted(view)}").count()

    def _candidates(self, key: str, sqls: Sequence[str]) -> str | None:
        """Of some rows those that the member has, with their ranks."""
        rows = self.rows[key]
        found = " UNION ALL ".join(sqls)
        d, line = f"{RESERVED}d", f"{RESERVED}l"
        return self.bench.keep(
            f"SELECT * FROM ({rows.held()}) AS {line} "
            f"WHERE EXISTS (SELECT 1 FROM ({found}) AS {d} WHERE {rows.same(line, d)})",
            f"rows of {rows.member.name} that may have lost their support",
        )

    def _lowest(self, pending: Mapping[str, str]) -> int:
        found = []
        for view in pending.values():
            here = self.bench.rows_of(view)
            if here is None:
                found.append(self.bench.frame(f"SELECT min({WEIGHT}) FROM {quoted(view)}").collect()[0][0])
            else:
                found.append(min(here[WEIGHT].to_pylist()))
        return int(min(found))

    def _unsupported(self, rows: Rows, view: str, rank: int | None) -> str | None:
        """Of the candidates those that no rows of smaller rank derive; with a rank, only those of that one."""
        d, c = f"{RESERVED}d", f"{RESERVED}c"
        chosen = quoted(view) if rank is None else f"(SELECT * FROM {quoted(view)} WHERE {WEIGHT} = {rank})"
        if rank is None:
            members = {key: self._ranked(key) for key in rows.member.reads}
        else:
            members = {key: self._below(key, rank) for key in rows.member.reads}
        derived = []
        for rule in rows.member.rules:
            sql = self._sql(rule, self.world, members, among=(view, rows.columns))
            text = sql.ranked() if rank is None else _weighted(sql.whole())
            assert text is not None  # noqa: S101 - carried rules have one
            derived.append(rows.typed(text, weighted=True))
        every = " UNION ALL ".join(derived)
        return self.bench.keep(
            f"SELECT {c}.* FROM {chosen} AS {c} WHERE NOT EXISTS (SELECT 1 FROM ({every}) AS {d} "
            f"WHERE {rows.same(c, d)} AND {d}.{WEIGHT} < {c}.{WEIGHT})",
            f"rows of {rows.member.name} that nothing holds up",
        )

    def _ranked(self, key: str) -> Views:
        """All rows of a member that stay, as a change whose weights are their ranks."""
        rows = self.rows[key]
        view = self._later(rows.held())
        return Views(view, view, view, types={column.name.casefold(): column.type for column in rows.columns})

    def _below(self, key: str, rank: int) -> Views:
        rows = self.rows[key]
        view = self._later(f"SELECT {', '.join(rows.names)} FROM ({rows.held(below=rank)})")
        return Views(view, view, None, types={column.name.casefold(): column.type for column in rows.columns})

    def _next(self, pending: Mapping[str, str], fallen: Mapping[str, str], rank: int | None) -> dict[str, str]:
        """Take the fallen rows away; what they derived, with a higher rank, is to be looked at."""
        before = {key: rows.now() for key, rows in self.rows.items()}
        for key, view in fallen.items():
            self.rows[key].gone.append(view)
        following: dict[str, str] = {}
        for key, rows in self.rows.items():
            found = list(self._derived_from(rows, fallen, before, rank)) if fallen else []
            if rank is not None and key in pending:
                found.append(f"SELECT * FROM {quoted(pending[key])} WHERE {WEIGHT} > {rank}")
            if not found:
                continue
            looked_at = self.bench.keep(
                f"SELECT DISTINCT * FROM ({' UNION ALL '.join(found)})",
                f"rows of {rows.member.name} that may have lost their support",
            )
            if looked_at is not None:
                following[key] = looked_at
        return following

    def _derived_from(
        self, rows: Rows, fallen: Mapping[str, str], before: Mapping[str, str], rank: int | None
    ) -> Iterator[str]:
        """Rows of a member that the fallen rows derived, if their rank is higher."""
        d, line = f"{RESERVED}d", f"{RESERVED}l"
        for rule in rows.member.rules:
            if fallen.keys().isdisjoint(rule.members):
                continue
            if rank is None:
                (key,) = rule.members
                view = fallen[key]
                ranked = self._sql(rule, self.world, {key: Views(view, view, view)}).ranked()
                sqls = [] if ranked is None else [ranked]
                higher = f"{d}.{WEIGHT} < {line}.{WEIGHT}"
            else:
                members = {one: self._fallen_states(one, fallen, before) for one in rule.members}
                sqls = self._sql(rule, self.world, members).changes()
                higher = f"{line}.{WEIGHT} > {rank}"
            for sql in sqls:
                yield (
                    f"SELECT {line}.* FROM ({rows.held()}) AS {line} WHERE EXISTS (SELECT 1 FROM "
                    f"({rows.typed(sql, weighted=True)}) AS {d} WHERE {rows.same(line, d)} AND {higher})"
                )

    def _fallen_states(self, key: str, fallen: Mapping[str, str], before: Mapping[str, str]) -> Views:
        rows = self.rows[key]
        types = {column.name.casefold(): column.type for column in rows.columns}
        after = self._later(rows.now())
        if key not in fallen:
            return Views(after, after, None, types=types)
        listed = ", ".join(rows.names)
        sql = f"SELECT {listed}, CAST(-1 AS BIGINT) AS {WEIGHT} FROM {quoted(fallen[key])}"
        delta = self.bench.view(sql, f"rows of {rows.member.name} that fell")
        return Views(self._later(before[key]), after, delta, types=types)

    def _derivable_again(self, rows: Rows) -> list[str]:
        """What can be derived of the rows that went, or for their keys, from what stays."""
        wanted = " UNION ALL ".join(f"SELECT {', '.join(rows.names)} FROM {quoted(view)}" for view in rows.gone)
        view = self.bench.keep(f"SELECT DISTINCT * FROM ({wanted})", f"rows of {rows.member.name} that went")
        if view is None:
            return []
        now = {key: self.as_they_are(key) for key in rows.member.reads}
        g, d = f"{RESERVED}g", f"{RESERVED}d"
        found = []
        for rule in rows.member.rules:
            among = (view, rows.columns) if rows.member.best is None else None
            sql = self._sql(rule, self.world, now, among).whole()
            found.append(
                f"SELECT {d}.* FROM ({rows.typed(sql, weighted=False)}) AS {d} WHERE EXISTS "
                f"(SELECT 1 FROM {quoted(view)} AS {g} WHERE {rows.same(d, g, rows.identity)})"
            )
        return found


@dataclass
class _Moved:
    """By member: SQL of what comes and of what may have gone, because of the tables outside."""

    gained: dict[str, list[str]] = field(default_factory=dict)
    lost: dict[str, list[str]] = field(default_factory=dict)


def _weighted(sql: str) -> str:
    return f"SELECT *, CAST(0 AS BIGINT) AS {WEIGHT} FROM ({sql})"


def _unknown(rows: Rows, found: str, *, few: bool) -> str:
    """Of some rows those that are not there; few are sent to where the others are, instead of sorting all."""
    d, s = f"{RESERVED}d", f"{RESERVED}s"
    same = rows.same(d, s)
    there = rows.now()
    if few:
        there = f"SELECT {s}.* FROM ({there}) AS {s} WHERE EXISTS (SELECT 1 FROM ({found}) AS {d} WHERE {same})"
        return f"SELECT /*+ BROADCAST({s}) */ {d}.* FROM ({found}) AS {d} LEFT ANTI JOIN ({there}) AS {s} ON {same}"
    return f"SELECT {d}.* FROM ({found}) AS {d} LEFT ANTI JOIN ({there}) AS {s} ON {same}"
