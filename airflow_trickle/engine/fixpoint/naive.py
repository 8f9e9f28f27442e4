"""A cycle without rules: every pass computes every member anew, until a pass changes nothing.

    X = {};   X' = F(X);   again, until X' = X as bags          layer by layer: what a layer reads has settled before

This is what the words of the query say, whatever they are; it serves where rules do not reach: duplicates that count on
the way round, INTERSECT and EXCEPT of members, cycles that are tried although they are not monotone.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Column, Views
from airflow_trickle.engine.fixpoint.machine import NotSettled
from airflow_trickle.engine.fixpoint.rules import Member
from airflow_trickle.engine.fixpoint.sql import RuleSql, World
from airflow_trickle.engine.fixpoint.system import layers
from airflow_trickle.engine.inputs import create_view
from airflow_trickle.engine.zset import WEIGHT, checkpointed, net, weigh
from airflow_trickle.identifiers import quote
from airflow_trickle.results import Iteration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class Naive:
    """The members of a cycle, computed anew pass by pass."""

    bench: SparkBench
    keys: Mapping[str, str]
    members: Mapping[str, Member]
    columns: Mapping[str, list[Column]]
    world: World
    cap: int
    note: Callable[[Iteration], None] = lambda _: None
    trace: list[Iteration] = field(default_factory=list)
    #: By member: its rows so far.
    frames: dict[str, DataFrame] = field(default_factory=dict)
    #: Is called after every pass but the last of a layer, with the number of the layer and of its pass.
    after_pass: Callable[[int, int], None] = lambda _layer, _count: None
    _views: dict[str, str] = field(default_factory=dict)

    def settle(self, found: Mapping[str, DataFrame] | None = None, layer: int = 0, count: int = 0) -> None:
        """Compute until nothing changes.

        Args:
            found: What an earlier attempt has found of each member.
            layer: The layer that it was at.
            count: How many passes over that layer it had made.

        Raises:
            NotSettled: there were too many passes.
        """
        for key in self.members:
            frame = (found or {}).get(key)
            self.take(key, frame if frame is not None else self.bench.frame(f"SELECT {self._nulls(key)} WHERE false"))
        for number, members in enumerate(layers(self.members)):
            if number >= layer:
                self._settle(members, number, count if number == layer else 0)

    def _settle(self, layer: list[str], number: int, done: int) -> None:
        """Compute some members until nothing changes."""
        for count in itertools.count(done + 1):
            begin = time.monotonic()
            counts = {member.name: self._pass(key) if key in layer else 0 for key, member in self.members.items()}
            seconds = round(time.monotonic() - begin, 3)
            one = Iteration(number=len(self.trace) + 1, phase="derive", changes=counts, seconds=seconds)
            self.trace.append(one)
            self.note(one)
            if not one.total:
                return
            if count >= self.cap:
                raise NotSettled
            self.after_pass(number, count)

    def _pass(self, key: str) -> int:
        """Compute a member once more; returns how many rows are others."""
        from pyspark.sql import functions as F

        states = {other: self._states(other) for other in self.members}
        sql = RuleSql(self.members[key].whole, self.world, states, self.keys).whole()
        plain = [f"__trickle_c{number}" for number in range(len(self.columns[key]))]
        typed = ", ".join(
            f"CAST({name} AS {column.type}) AS {quote(column.name)}"
            for name, column in zip(plain, self.columns[key], strict=True)
        )
        after = self.bench.frame(f"SELECT {typed} FROM ({sql}) AS __trickle_q({', '.join(plain)})")
        after = checkpointed(after)
        moved = net(weigh(after, 1).unionAll(weigh(self.frames[key], -1)))
        changed = moved.agg(F.coalesce(F.sum(F.abs(WEIGHT)), F.lit(0))).collect()[0][0]
        if changed:
            self.take(key, after)
        return int(changed)

    def take(self, key: str, frame: DataFrame) -> None:
        """Set what a member is."""
        self.frames[key] = frame
        self._views[key] = create_view(frame)
        self.bench.made(self._views[key])

    def _states(self, key: str) -> Views:
        view = self._views[key]
        return Views(view, view, None)

    def _nulls(self, key: str) -> str:
        return ", ".join(f"CAST(NULL AS {column.type}) AS {quote(column.name)}" for column in self.columns[key])
