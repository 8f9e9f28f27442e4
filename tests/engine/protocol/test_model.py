"""The protocol of leases, staging, commits, groups and captures, explored with the real code.

Three processes work on one pipeline. Before each operation on a file, and before and after each transaction, any of
them may stand still for as long as it takes, be killed, or lose its connection at COMMIT; the clock may jump. At every
moment what is published exists, is right and is of one epoch, no table goes back, and no tick publishes twice. When all
is done, no file is without an owner.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from sqlalchemy import select

from airflow_trickle.engine.capture.capture import capture
from airflow_trickle.engine.group import GroupRefresh
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.errors import RefreshFailed, TrickleError, WarehouseUnavailable
from airflow_trickle.lakehouse import leases
from airflow_trickle.lakehouse.database import Database
from airflow_trickle.lakehouse.staging import clean_pipeline
from airflow_trickle.lakehouse.tables import staging
from airflow_trickle.tuning import tuned
from tests import budgets
from tests.databases import new_database
from tests.engine.protocol import hooks
from tests.engine.protocol.house import House, spark, without_spark
from tests.engine.protocol.judging import Judge
from tests.engine.protocol.processes import CURRENT, Killed, Loss, Process

#: What was explored by this test.
STEPS: Counter[str] = Counter()
SOAK = budgets.PROFILE.name == "soak"
#: A soak explores more than 100,000 steps, and takes as long as it takes.
pytestmark = [pytest.mark.seeded, pytest.mark.timeout(0 if SOAK else 600)]
WORKERS = st.integers(0, 2)


class Protocol(RuleBasedStateMachine):
    """Three processes and a clock."""

    uri: Any = None

    @initialize()
    def begin(self) -> None:
        STEPS["examples"] += 1
        if STEPS["examples"] % 20 == 0:
            print(f"{type(self).__name__}: {dict(STEPS)} so far", flush=True)
        self.patches = pytest.MonkeyPatch()
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.tuning = tuned(lease_wait_seconds=0.0, commit_outcome_seconds=0.0)
        self.tuning.__enter__()
        hooks.announce_everything(self.patches)
        self.house = House(self.folder, self.uri(self.folder))
        without_spark(self.patches, self.house)
        self.now = time.time()
        self.dead: set[int] = set()
        self.numbers = itertools.count(1)
        self.patches.setattr(Database, "now", lambda _database, _connection: self.now)
        self.patches.setattr(leases, "_keep_alive", lambda *_: None)
        self.patches.setattr(leases, "this_process", self._this_process)
        self.patches.setattr(leases, "is_gone", lambda row: row["pid"] in self.dead)
        self.workers = [self._new() for _ in range(3)]
        self.lake = self.house.open()
        self.judge = Judge(self.house, self.lake)
        self.ticks = ["p/1"]
        #: What processes may leave that were killed after others had discarded their work.
        self.lost: set[str] = set()

    def _this_process(self) -> Any:
        process = CURRENT.process
        return SimpleNamespace(
            pid=process.pid if process is not None else 0, boot_id="b", pid_namespace="n", start_ticks=0
        )

    def _new(self) -> Process:
        lake = self.house.open()
        hooks.announce_statements(lake)
        return Process(next(self.numbers), lake)

    # --- what processes begin ----------------------------------------------------------------------

    def _start(self, worker: int, what: str, work: Any) -> None:
        process = self.workers[worker]
        if process.busy:
            self._step(process)
            return
        process.start(what, work)
        self._after(process)

    @rule(worker=WORKERS, new=st.booleans())
    def run_tick(self, worker: int, new: bool) -> None:
        if new and not self.workers[worker].busy:
            self.ticks.append(f"p/{len(self.ticks) + 1}")
        self._run_newest_tick(worker)

    def _run_newest_tick(self, worker: int) -> None:
        tick_id, lake = self.ticks[-1], self.workers[worker].lake

        def work() -> None:
            provider = spark()
            capture(lake, self.house.capture, tick_id, provider)
            tick = pin(lake, self.house.plan.pin, tick_id)
            refresh(lake, self.house.solo, tick, provider)
            refresh(lake, self.house.group, tick, provider)

        self._start(worker, f"tick {tick_id}", work)

    @rule(worker=WORKERS, back=st.integers(1, 2))
    def run_old_tick(self, worker: int, back: int) -> None:
        tick_id, lake = self.ticks[-min(back, len(self.ticks))], self.workers[worker].lake

        def work() -> None:
            tick = pin(lake, self.house.plan.pin, tick_id)
            refresh(lake, self.house.solo, tick, spark())

        self._start(worker, f"solo of {tick_id}", work)

    @rule(
        worker=WORKERS, what=st.sampled_from(["begin", "ga", "gb", "gc", "commit", "cleanup"]), back=st.integers(1, 2)
    )
    def run_group_step(self, worker: int, what: str, back: int) -> None:
        tick_id, lake = self.ticks[-min(back, len(self.ticks))], self.workers[worker].lake

        def work() -> None:
            group = GroupRefresh(lake, self.house.group, pin(lake, self.house.plan.pin, tick_id), spark())
            if what in ("begin", "commit", "cleanup"):
                getattr(group, what)()
            else:
                group.stage(what)

        self._start(worker, f"{what} of {tick_id}", work)

    @rule(worker=WORKERS)
    def run_clean(self, worker: int) -> None:
        lake = self.workers[worker].lake
        self._start(worker, "clean", lambda: clean_pipeline(lake, "p"))

    # --- what happens to them ----------------------------------------------------------------------

    def _step(self, process: Process) -> None:
        if process.busy:
            STEPS["steps"] += 1
            process.step()
            self._after(process)

    def _after(self, process: Process) -> None:
        self.judge.look()
        error = process.error
        if error is None or process.busy:
            return
        STEPS[type(error).__name__] += 1
        if isinstance(error, WarehouseUnavailable):
            # No file fails here, so somebody has removed it: how so is worth a look.
            print(f"{process.did}: {error}", flush=True)
        process.error = None
        assert isinstance(error, TrickleError), repr(error)
        unforeseen = isinstance(error, RefreshFailed) and "should not happen" in str(error)
        assert not unforeseen, str(error)

    @rule(worker=WORKERS, times=st.integers(1, 40))
    def go_on(self, worker: int, times: int) -> None:
        for _ in range(times):
            self._go_on(worker)

    def _go_on(self, worker: int) -> None:
        if self.workers[worker].busy:
            self._step(self.workers[worker])
        else:
            # As a retry or a cleared task does; else most rules would find nobody at work.
            self._run_newest_tick(worker)

    @rule(order=st.lists(st.tuples(WORKERS, st.integers(1, 6)), min_size=2, max_size=12))
    def take_turns(self, order: list[tuple[int, int]]) -> None:
        for worker, times in order:
            for _ in range(times):
                self._go_on(worker)

    @rule(worker=WORKERS, loss=st.sampled_from([Loss.BEFORE, Loss.AFTER]))
    def lose_connection(self, worker: int, loss: Loss) -> None:
        if self.workers[worker].busy:
            STEPS["lost connections"] += 1
            self.workers[worker].loss = loss

    @rule(worker=WORKERS)
    def kill(self, worker: int) -> None:
        process = self.workers[worker]
        if process.busy:
            STEPS["kills"] += 1
            self._kill(process)
            self.workers[worker] = self._new()
            self.judge.look()

    def _kill(self, process: Process) -> None:
        process.kill()
        self.dead.add(process.pid)
        if process.error is not None and not isinstance(process.error, (Killed, TrickleError)):
            raise process.error
        # Files of a work that others have discarded before.
        with self.lake.database.engine.connect() as connection:
            known = set(connection.execute(select(staging.c.staging_id)).scalars())
        names = {part for path in self.judge.orphans_now() for part in ids_in(path)}
        self.lost |= names - known

    @rule(minutes=st.sampled_from([-30, 2, 30]))
    def jump_clock(self, minutes: int) -> None:
        STEPS["clock jumps"] += 1
        self.now += 60 * minutes

    @rule()
    def change_sources(self) -> None:
        self.house.append()

    # --- the end -----------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "workers"):
            return
        try:
            self._finish()
        finally:
            for process in self.workers:
                process.kill()
            self.lake.close()
            self.house.outside.engine.dispose()
            self.tuning.__exit__(None, None, None)
            self.patches.undo()
            shutil.rmtree(self.folder)

    def _finish(self) -> None:
        """Let all come to their ends, then run one more tick."""
        for process in self.workers:
            process.loss = Loss.NONE
            while process.busy:
                self._step(process)
        self.now += 10_000
        self.house.append()
        last = self._new()
        try:
            for tick_id in ("p/last", "p/the very last"):
                tick = self._whole(last, tick_id)
                GroupRefresh(last.lake, self.house.group, tick, spark()).cleanup()
            clean_pipeline(last.lake, "p")
            leases.forget_dead(last.lake)
            self.judge.look_at_the_end(self.lost)
        finally:
            last.lake.close()

    def _whole(self, process: Process, tick_id: str) -> Any:
        provider = spark()
        capture(process.lake, self.house.capture, tick_id, provider)
        tick = pin(process.lake, self.house.plan.pin, tick_id)
        refresh(process.lake, self.house.solo, tick, provider)
        refresh(process.lake, self.house.group, tick, provider)
        return tick


def ids_in(path: str) -> set[str]:
    """The staging ids in the name of a file."""
    return set(re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", path))


class OnSqlite(Protocol):
    uri = staticmethod(lambda folder: f"sqlite:///{folder}/catalog.db")


class OnPostgresql(Protocol):
    uri = staticmethod(lambda _folder: new_database())


def explore(machine: type[Protocol], weight: float) -> None:
    STEPS.clear()
    started = time.monotonic()
    run_state_machine_as_test(
        machine,
        settings=settings(
            # The first ones have the simplest values, and do next to nothing.
            max_examples=max(3, budgets.examples(weight)),
            # Half of the time of a short example goes to what comes at its end.
            stateful_step_count=100 if SOAK else 40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            # A case of so many rules takes seconds: it is kept as it was found.
            phases=[Phase.generate],
        ),
    )
    print(f"{machine.__name__}, seed {budgets.SEED}: {dict(STEPS)} in {time.monotonic() - started:.0f} s")
    assert STEPS["steps"], "nothing was explored"


def test_the_protocol_holds_on_sqlite() -> None:
    explore(OnSqlite, 0.15 if SOAK else 0.03)


@pytest.mark.server
def test_the_protocol_holds_on_postgresql() -> None:
    explore(OnPostgresql, 0.06 if SOAK else 0.03)
