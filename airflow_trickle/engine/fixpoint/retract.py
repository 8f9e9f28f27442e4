"""Rows of a cycle that nothing holds up any more are taken away, pass by pass.

    C = rows of which a derivation went;   G = those of C that no rows of smaller rank derive;   gone += G
    C' = rows of higher rank that a row of G derives;   again, until G is empty

Why that is right, and how it goes on, stands in `machine`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_trickle.engine.delta.context import Views
from airflow_trickle.engine.fixpoint.rows import Rows
from airflow_trickle.engine.fixpoint.rules import Rule
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import fold, quote

if TYPE_CHECKING:
    from airflow_trickle.engine.fixpoint.machine import Machine

#: When more than this share of the rows has to go, it is quicker to begin from nothing.
TOO_MANY_GONE = 0.25
#: So many rows may go in any case.
_ALWAYS = 1000


class RanksUnknown(Exception):
    """A row lost support, and what else holds it up cannot be told, or not quickly; the text says why."""


class TooManyGone(Exception):
    """So many rows go that it is better to begin from nothing."""


def too_many(went: int, before: int) -> bool:
    """Whether so many of the rows before went that it is better to begin from nothing."""
    return went > max(_ALWAYS, TOO_MANY_GONE * before)


@dataclass
class Retraction:
    """Takes rows of a machine's members away."""

    machine: Machine

    def take(self, lost: Mapping[str, Sequence[str]]) -> None:
        """Take away what is no longer held up, pass by pass.

        Args:
            lost: By member: SQL of rows that may have lost a derivation.
        """
        if any(rows.member.best is not None for rows in self.machine.rows.values()):
            # What was derived from a value that was bettered since may have a smaller rank than the better one.
            raise RanksUnknown("a best value may have lost what it was derived from")
        if any(rows.lines is None for rows in self.machine.rows.values()):
            raise RanksUnknown("the ranks of the rows are not known, or no longer")
        carried = all(self._is_carried(rule) for rows in self.machine.rows.values() for rule in rows.member.rules)
        pending = {key: view for key, sqls in lost.items() if (view := self._candidates(key, sqls)) is not None}
        went, before = 0, sum(rows.size for rows in self.machine.rows.values())
        while pending:
            begin = time.monotonic()
            below = None if carried else self._lowest(pending)
            fallen: dict[str, str] = {}
            for key, view in pending.items():
                unsupported = self._unsupported(self.machine.rows[key], view, below)
                if unsupported is not None:
                    fallen[key] = unsupported
            counts = {rows.member.name: self._count(fallen.get(key)) for key, rows in self.machine.rows.items()}
            went += sum(counts.values())
            if too_many(went, before):
                raise TooManyGone
            pending = self._next(pending, fallen, below)
            self.machine.retracted(counts, begin)

    def _is_carried(self, rule: Rule) -> bool:
        return not rule.members or (not rule.deep and len(rule.reads) == 1)

    def _count(self, view: str | None) -> int:
        if view is None:
            return 0
        here = self.machine.bench.rows_of(view)
        return here.num_rows if here is not None else self.machine.bench.frame(f"SELECT 1 FROM {quote(view)}").count()

    def _candidates(self, key: str, sqls: Sequence[str]) -> str | None:
        """Of some rows those that the member has, with their ranks."""
        rows = self.machine.rows[key]
        found = " UNION ALL ".join(sqls)
        d, line = f"{RESERVED}d", f"{RESERVED}l"
        return self.machine.bench.keep(
            f"SELECT * FROM ({rows.held()}) AS {line} "
            f"WHERE EXISTS (SELECT 1 FROM ({found}) AS {d} WHERE {rows.same(line, d)})",
            f"rows of {rows.member.name} that may have lost their support",
        )

    def _lowest(self, pending: Mapping[str, str]) -> int:
        found = []
        for view in pending.values():
            here = self.machine.bench.rows_of(view)
            if here is None:
                found.append(self.machine.bench.frame(f"SELECT min({WEIGHT}) FROM {quote(view)}").collect()[0][0])
            else:
                found.append(min(here[WEIGHT].to_pylist()))
        return int(min(found))

    def _unsupported(self, rows: Rows, view: str, rank: int | None) -> str | None:
        """Of the candidates those that no rows of smaller rank derive; with a rank, only those of that one."""
        d, c = f"{RESERVED}d", f"{RESERVED}c"
        chosen = quote(view) if rank is None else f"(SELECT * FROM {quote(view)} WHERE {WEIGHT} = {rank})"
        if rank is None:
            members = {key: self._ranked(key) for key in rows.member.reads}
        else:
            members = {key: self._below(key, rank) for key in rows.member.reads}
        derived = []
        for rule in rows.member.rules:
            sql = self.machine.sql_of(rule, self.machine.world, members, among=(view, rows.columns))
            text = sql.ranked() if rank is None else _weighted(sql.whole())
            assert text is not None  # noqa: S101 - carried rules have one
            derived.append(rows.typed(text, weighted=True))
        every = " UNION ALL ".join(derived)
        return self.machine.bench.keep(
            f"SELECT {c}.* FROM {chosen} AS {c} WHERE NOT EXISTS (SELECT 1 FROM ({every}) AS {d} "
            f"WHERE {rows.same(c, d)} AND {d}.{WEIGHT} < {c}.{WEIGHT})",
            f"rows of {rows.member.name} that nothing holds up",
        )

    def _ranked(self, key: str) -> Views:
        """All rows of a member that stay, as a change whose weights are their ranks."""
        rows = self.machine.rows[key]
        view = self.machine.later(rows.held())
        return Views(view, view, view, types={fold(column.name): column.type for column in rows.columns})

    def _below(self, key: str, rank: int) -> Views:
        rows = self.machine.rows[key]
        view = self.machine.later(f"SELECT {', '.join(rows.names)} FROM ({rows.held(below=rank)})")
        return Views(view, view, None, types={fold(column.name): column.type for column in rows.columns})

    def _next(self, pending: Mapping[str, str], fallen: Mapping[str, str], rank: int | None) -> dict[str, str]:
        """Take the fallen rows away; what they derived, with a higher rank, is to be looked at."""
        before = {key: rows.now() for key, rows in self.machine.rows.items()}
        for key, view in fallen.items():
            self.machine.rows[key].gone.append(view)
        following: dict[str, str] = {}
        for key, rows in self.machine.rows.items():
            found = list(self._derived_from(rows, fallen, before, rank)) if fallen else []
            if rank is not None and key in pending:
                found.append(f"SELECT * FROM {quote(pending[key])} WHERE {WEIGHT} > {rank}")
            if not found:
                continue
            looked_at = self.machine.bench.keep(
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
                ranked = self.machine.sql_of(rule, self.machine.world, {key: Views(view, view, view)}).ranked()
                sqls = [] if ranked is None else [ranked]
                higher = f"{d}.{WEIGHT} < {line}.{WEIGHT}"
            else:
                members = {one: self._fallen_states(one, fallen, before) for one in rule.members}
                sqls = self.machine.sql_of(rule, self.machine.world, members).changes()
                higher = f"{line}.{WEIGHT} > {rank}"
            for sql in sqls:
                yield (
                    f"SELECT {line}.* FROM ({rows.held()}) AS {line} WHERE EXISTS (SELECT 1 FROM "
                    f"({rows.typed(sql, weighted=True)}) AS {d} WHERE {rows.same(line, d)} AND {higher})"
                )

    def _fallen_states(self, key: str, fallen: Mapping[str, str], before: Mapping[str, str]) -> Views:
        rows = self.machine.rows[key]
        types = {fold(column.name): column.type for column in rows.columns}
        after = self.machine.later(rows.now())
        if key not in fallen:
            return Views(after, after, None, types=types)
        listed = ", ".join(rows.names)
        sql = f"SELECT {listed}, CAST(-1 AS BIGINT) AS {WEIGHT} FROM {quote(fallen[key])}"
        delta = self.machine.bench.view(sql, f"rows of {rows.member.name} that fell")
        return Views(self.machine.later(before[key]), after, delta, types=types)

    def derivable_again(self, rows: Rows) -> list[str]:
        """What can be derived of the rows that went, or for their keys, from what stays."""
        wanted = " UNION ALL ".join(f"SELECT {', '.join(rows.names)} FROM {quote(view)}" for view in rows.gone)
        view = self.machine.bench.keep(f"SELECT DISTINCT * FROM ({wanted})", f"rows of {rows.member.name} that went")
        if view is None:
            return []
        now = {key: self.machine.as_they_are(key) for key in rows.member.reads}
        g, d = f"{RESERVED}g", f"{RESERVED}d"
        found = []
        for rule in rows.member.rules:
            among = (view, rows.columns) if rows.member.best is None else None
            sql = self.machine.sql_of(rule, self.machine.world, now, among).whole()
            found.append(
                f"SELECT {d}.* FROM ({rows.typed(sql, weighted=False)}) AS {d} WHERE EXISTS "
                f"(SELECT 1 FROM {quote(view)} AS {g} WHERE {rows.same(d, g, rows.identity)})"
            )
        return found


def _weighted(sql: str) -> str:
    return f"SELECT *, CAST(0 AS BIGINT) AS {WEIGHT} FROM ({sql})"
