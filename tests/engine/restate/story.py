"""Sources with a history, and what every table should hold at each moment of it, told by DuckDB and not by us."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from airflow_trickle import Mode, Pipeline, RestatedTable, TableResult, clock
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_status
from tests.engine.world import World

Rows = Counter[tuple[Any, ...]]


class Story:
    """A world whose sources move on, chapter by chapter; ticks then read it as of each of them."""

    def __init__(self, world: World, right: Callable[[World], dict[str, Rows]]) -> None:
        self.world = world
        self.right = right
        self.moments: list[datetime] = []
        self.expected: list[dict[str, Rows]] = []

    def chapter(self) -> None:
        """Note the sources as they are now; moments are told by milliseconds."""
        time.sleep(0.005)
        self.moments.append(clock.now())
        time.sleep(0.005)
        self.expected.append(self.right(self.world))

    def tick(self, number: int, **options: Any) -> dict[str, TableResult]:
        """A tick as of a chapter, after which every table must be right."""
        results = self.world.tick(as_of=self.moments[number], **options)
        self.check(number, results)
        return results

    def ticks(self, numbers: Iterable[int]) -> list[dict[str, TableResult]]:
        return [self.tick(number) for number in numbers]

    def check(self, number: int, tables: Iterable[str]) -> None:
        for name in tables:
            if name in self.expected[number]:
                assert self.world.rows(name) == self.expected[number][name], f"{name} at {number}"

    def restate(self, number: int) -> dict[str, RestatedTable]:
        return Pipeline.load(self.world.yaml).restate(self.moments[number])


def judged(queries: Mapping[str, str]) -> Callable[[World], dict[str, Rows]]:
    """DuckDB's answers to the queries of all tables, over the sources as they are."""
    return lambda world: {name: world.judge(f"SELECT * FROM {name}", **queries) for name in queries}


def modes(results: Mapping[str, TableResult]) -> set[Mode]:
    return {result.mode for result in results.values()}


def from_changes(all_results: list[dict[str, TableResult]]) -> None:
    """No table was computed in full, and none was left out."""
    for results in all_results:
        assert modes(results) <= {Mode.DIFFERENTIAL, Mode.NO_DATA}, results


def statuses() -> dict[str, Any]:
    with open_lakehouse("trickle") as lake:
        return {status.name: status for status in read_status(lake).values()}
