"""A tick fails at each of its operations on files and on the database, one after the other.

Whatever fails: nothing is published wrong, nothing is lost, and the next tick heals it and leaves nothing behind.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg2
import pytest

from airflow_trickle.engine.capture.capture import capture
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse import leases
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.database import Database
from tests import budgets
from tests.conftest import Tuned
from tests.databases import new_database
from tests.engine.protocol import hooks
from tests.engine.protocol.house import House, spark, without_spark
from tests.engine.protocol.judging import Judge

#: So many points of each scenario are tried in CI; a soak tries all.
SOME = 12
#: A soak takes as long as it takes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(0 if budgets.PROFILE.name == "soak" else 600)]
#: A house gets larger with each tick.
POINTS_OF_A_HOUSE = 10


class Faults:
    """Fails the n-th operation."""

    def __init__(self, at: int, sqlite: bool, kind: int) -> None:
        self.at, self.sqlite, self.kind = at, sqlite, kind
        self.count = 0
        self.failed: str | None = None

    def hook(self, kind: str, what: str, done: bool) -> None:
        if kind in ("transaction", "reading"):
            return  # their statements are announced too
        self.count += 1
        if self.count != self.at:
            return
        self.failed = f"{kind} {what[:80]} {'after' if done else 'before'}"
        if kind not in ("statement", "COMMIT"):
            code = errno.ENOSPC if self.kind else errno.EIO
            raise OSError(code, os.strerror(code), what)
        if self.sqlite:
            raise sqlite3.OperationalError("disk I/O error")
        hooks.cut()
        raise psycopg2.OperationalError("server closed the connection unexpectedly")


@pytest.fixture(params=["sqlite", "postgresql"])
def new_house(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tuned: Tuned
) -> Iterator[Callable[[], House]]:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    hooks.announce_everything(monkeypatch)
    monkeypatch.setattr(leases, "_keep_alive", lambda *_: None)
    tuned(lease_wait_seconds=0.0)
    numbers = iter(range(10**6))

    def new() -> House:
        home = folder / str(next(numbers))
        home.mkdir()
        house = House(home, f"sqlite:///{home}/catalog.db" if request.param == "sqlite" else new_database())
        without_spark(monkeypatch, house)
        return house

    yield new
    shutil.rmtree(folder)


class Later:
    """The clock of the database."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds, now = 0.0, Database.now
        monkeypatch.setattr(Database, "now", lambda database, connection: now(database, connection) + self.seconds)


Run = Callable[[House, Lakehouse, str], object]


def whole_tick(house: House, lake: Lakehouse, tick_id: str) -> None:
    provider = spark()
    capture(lake, house.capture, tick_id, provider)
    tick = pin(lake, house.plan.pin, tick_id)
    refresh(lake, house.solo, tick, provider)
    refresh(lake, house.group, tick, provider)


def only_capture(house: House, lake: Lakehouse, tick_id: str) -> None:
    capture(lake, house.capture, tick_id, spark())


def _after_capture(unit: str) -> Run:
    def run(house: House, lake: Lakehouse, tick_id: str) -> None:
        tick = pin(lake, house.plan.pin, tick_id)
        refresh(lake, getattr(house, unit), tick, spark())

    return run


def nothing(house: House, lake: Lakehouse, tick_id: str) -> None: ...


#: What is done first without a fault, and what fails.
SCENARIOS: dict[str, tuple[Run, Run]] = {
    "capture": (nothing, only_capture),
    "append and delete": (only_capture, _after_capture("solo")),
    "group": (nothing, _after_capture("group")),
}


def one_point(house: House, lake: Lakehouse, judge: Judge, later: Later, scenario: str, at: int) -> str | None:
    """Fail at one point, then heal; what failed, None if the run has no such point."""
    prepare, run = SCENARIOS[scenario]
    house.append()
    prepare(house, lake, f"p/{at}")
    faults = Faults(at, lake.database.is_sqlite, at % 2)
    try:
        with hooks.hooked(faults.hook):
            run(house, lake, f"p/{at}")
    except TrickleError:
        assert faults.failed is not None
    judge.look()
    later.seconds += 10_000  # a lease that could not be given back runs out
    if at % 3 == 0:
        whole_tick(house, lake, f"p/{at}")  # the task is tried again
        judge.look()
        later.seconds += 10_000
    whole_tick(house, lake, f"p/{at} next")
    judge.look_at_the_end()
    return faults.failed


@pytest.mark.seeded
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_whatever_operation_fails_the_next_tick_heals_it(
    new_house: Callable[[], House], monkeypatch: pytest.MonkeyPatch, scenario: str
) -> None:
    later = Later(monkeypatch)
    house = new_house()
    with house.open() as lake:
        whole_tick(house, lake, "p/0")
        house.append()
        counting = Faults(0, lake.database.is_sqlite, 0)
        SCENARIOS[scenario][0](house, lake, "p/count")
        with hooks.hooked(counting.hook):
            hooks.announce_statements(lake)
            SCENARIOS[scenario][1](house, lake, "p/count")
    points = list(range(1, counting.count + 30))
    if budgets.PROFILE.name != "soak":
        points = sorted(budgets.chance(f"faults {scenario}").sample(range(1, counting.count + 1), SOME))
    tried = 0
    for start in range(0, len(points), POINTS_OF_A_HOUSE):
        house = new_house()
        with house.open() as lake:
            hooks.announce_statements(lake)
            whole_tick(house, lake, "p/0")
            judge = Judge(house, lake)
            judge.look()
            for at in points[start : start + POINTS_OF_A_HOUSE]:
                failed = one_point(house, lake, judge, later, scenario, at)
                tried += failed is not None
                print(f"{scenario} on {lake.database.url.get_backend_name()}, point {at}: {failed}")
    print(f"{scenario}: {tried} points tried of {counting.count}")
    assert tried
