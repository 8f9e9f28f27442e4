"""A recursive pipeline on real tables, and everything that is asked of it after every tick."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import pyarrow as pa

from airflow_trickle import Mode, TableResult
from tests.engine.fixpoint.judge import Row, least_fixed_point
from tests.engine.fixpoint.system import System
from tests.engine.world import World

_HEAD = """\
pipeline: p
allow_circular: true
diamond_consistency: none
max_fixpoint_iterations: {cap}
sources: [{sources}]
defaults: {{refresh_mode: DIFFERENTIAL}}
stream_tables:
"""


class Stage:
    """The tables of a system in a world."""

    def __init__(
        self,
        world: World,
        system: System,
        rows: Mapping[str, Iterable[Row]],
        cap: int = 200,
        chance: Random | None = None,
    ):
        self.world, self.system = world, system
        self._chance = chance or Random(0)
        self.now = {name: list(some) for name, some in rows.items()}
        for name, columns in system.sources.items():
            world.source(name, pa.schema([(column, pa.int64()) for column in columns.split()]), self._dicts(name))
        world.yaml.write_text(_yaml(system, cap), encoding="utf-8")
        self._right: dict[str, Counter[Row]] = {}

    def _dicts(self, name: str, rows: Iterable[Row] | None = None) -> list[dict[str, Any]]:
        columns = self.system.sources[name].split()
        return [dict(zip(columns, row, strict=True)) for row in (self.now[name] if rows is None else rows)]

    def set(self, **sources: Iterable[Row]) -> None:
        """Give sources other rows: what is new is appended, what went is deleted, or all is written anew."""
        for name, some in sources.items():
            rows = list(some)
            came, went = Counter(rows) - Counter(self.now[name]), Counter(self.now[name]) - Counter(rows)
            self.now[name] = rows
            alone = all(row not in rows for row in went)
            if went and alone and self._chance.random() < 0.5:
                for row in went:
                    self.world.delete(name, self._where(name, row))
            elif went:
                self.world.replace(name, self._dicts(name))
                continue
            if came:
                self.world.append(name, *self._dicts(name, came.elements()))

    def _where(self, name: str, row: Row) -> str:
        columns = self.system.sources[name].split()
        parts = (f"{c} is null" if v is None else f"{c} = {v}" for c, v in zip(columns, row, strict=True))
        return " and ".join(parts)

    def tick(self) -> dict[str, TableResult]:
        """One tick, with everything asked that holds after each."""
        first = not self._right
        before, self._right = self._right, least_fixed_point(self.system.groups, self.now)
        results = self.world.tick()
        for name, right in self._right.items():
            assert self.world.rows(name) == right, name
            if name in self.system.duckdb:
                assert self.world.judge(self.system.duckdb[name]) == right, f"the judges disagree about {name}"
            self._ask(name, results[name], first=first, moved=right != before.get(name))
        return results

    def _ask(self, name: str, result: TableResult, *, first: bool, moved: bool) -> None:
        full = first or (self.system.naive and name in self.system.recursive)
        wanted = Mode.FULL if full else Mode.DIFFERENTIAL
        allowed = {wanted} if moved or first else {wanted, Mode.NO_DATA}
        # Ranks say nothing of values that were bettered: what goes below a minimum is derived from nothing.
        lattice = result.mode is Mode.FULL and "a best value may have lost what it was derived from" in result.reason
        assert result.mode in allowed or lattice, f"{name}: {result.mode}, {result.reason}"
        if name in self.system.recursive and result.mode is not Mode.NO_DATA:
            assert result.iterations > 0, name
        assert result.changed is (moved if not first else bool(self._right[name])), name


def _yaml(system: System, cap: int) -> str:
    lines = [_HEAD.format(cap=cap, sources=", ".join(system.sources))]
    for name, query in system.tables.items():
        lines += [f"  {name}:\n    query: |\n", *(f"      {line.strip()}\n" for line in query.strip().splitlines())]
        if name in system.lattice:
            lines.append(f"    lattice: {system.lattice[name]}\n")
    return "".join(lines)
