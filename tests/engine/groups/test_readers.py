"""What readers see of an atomic group whose members fail at random."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from airflow_trickle import TickFailed
from tests import budgets
from tests.engine.groups.diamonds import NUMBERS, judged
from tests.engine.world import World

#: A diamond inside of another one, and one that overlaps both. Rows with x = -1, -2, -3 make c, e, b fail.
NESTED = {
    "a": "SELECT k, x FROM s",
    "b": "SELECT k, COUNT(*) AS n, MAX(60 DIV (x + 3)) AS m FROM a GROUP BY k",
    "c": "SELECT DISTINCT k, 60 DIV (x + 1) AS q FROM a",
    "d": "SELECT b.k, b.n, c.q FROM b JOIN c ON b.k = c.k",
    "e": "SELECT k, MAX(60 DIV (x + 2)) AS top FROM s GROUP BY k",
    "f": "SELECT d.k, d.n, e.top FROM d LEFT JOIN e ON d.k = e.k",
    "g": "SELECT c.k, c.q FROM c WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.k = c.k AND e.top > 40)",
}


class Reader(threading.Thread):
    """Looks at all members at one moment, again and again, and remembers which epochs it saw together.

    It knows nothing of this package: one statement of plain SQL tells where the metadata are, which are plain JSON.
    """

    def __init__(self, world: World, members: list[str]) -> None:
        super().__init__(daemon=True)
        self.world, self.members = world, members
        self.seen: set[frozenset[str]] = set()
        self.looks = 0
        self._end = threading.Event()

    def run(self) -> None:
        engine = create_engine(self.world.uri)
        while not self._end.is_set():
            with engine.connect() as connection:
                asked = text("SELECT table_name, metadata_location FROM iceberg_tables")
                places = {name: place for name, place in connection.execute(asked) if name in self.members}
            assert places.keys() == set(self.members)
            self.seen.add(frozenset(_group_epoch(place) for place in places.values()))
            self.looks += 1
            self._end.wait(0.01)
        engine.dispose()

    def stop(self) -> None:
        self._end.set()
        self.join()


def _group_epoch(place: str) -> str:
    metadata = json.loads(Path(place.removeprefix("file://")).read_text(encoding="utf-8"))
    (now,) = (one for one in metadata["snapshots"] if one["snapshot-id"] == metadata["current-snapshot-id"])
    epoch: str = now["summary"]["trickle.group-epoch"]
    return epoch


def ticks_with_failures(world: World, count: int, seed: int) -> None:
    chance = budgets.chance(seed)
    world.source("s", NUMBERS, [{"k": 0, "x": 1}])
    world.define(NESTED, diamonds="atomic")
    world.tick()
    reader = Reader(world, list(NESTED))
    reader.start()
    done, failures = 1, 0
    for number in range(count):
        poison = chance.choice([-1, -2, -3, None, None])
        rows = [{"k": chance.randrange(4), "x": chance.randrange(9)} for _ in range(3)]
        # A key of its own, so that every table changes in every tick.
        rows.append({"k": 100 + number, "x": 1})
        world.append("s", *rows, *([] if poison is None else [{"k": 1, "x": poison}]))
        if chance.random() < 0.3:
            world.delete("s", f"k = {chance.randrange(4)} AND x > 4")
        if poison is None:
            assert {result.group_epoch for result in world.tick().values()} == {done + 1}
            done += 1
            continue
        failures += 1
        with pytest.raises(TickFailed):
            world.tick()
        world.delete("s", "x < 0")
    world.tick()
    assert reader.is_alive()
    reader.stop()
    print(f"{count} ticks, {failures} failed; {reader.looks} looks at {len(reader.seen)} states")
    assert failures > 0
    assert all(len(together) == 1 for together in reader.seen), reader.seen
    assert len(reader.seen) >= done - 1, "it looked often enough to see nearly all of them"
    judged(world, {name: query.replace(" DIV ", " // ") for name, query in NESTED.items()})


def test_a_reader_never_sees_two_members_at_different_epochs(world: World) -> None:
    ticks_with_failures(world, 5, seed=20261117)


@pytest.mark.soak
def test_a_reader_never_sees_two_members_at_different_epochs_in_fifty_ticks(world: World) -> None:
    ticks_with_failures(world, 50, seed=20261118)
