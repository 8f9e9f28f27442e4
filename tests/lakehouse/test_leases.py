"""One process at a time refreshes a table; a dead one's lease is taken over."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import Connection, select, update

from airflow_trickle.errors import CommitConflict, LeaseHeld
from airflow_trickle.lakehouse import leases as module
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import commit
from airflow_trickle.lakehouse.leases import Lease, check, holding, release, renew, require, try_acquire
from airflow_trickle.lakehouse.processes import this_process
from airflow_trickle.lakehouse.tables import leases
from tests.conftest import Tuned
from tests.databases import new_database
from tests.lakehouse.writing import rows_of, stage_rows

ME = f"(process {os.getpid()} on {socket.gethostname()})"


def taken(answer: Lease | str) -> Lease:
    assert isinstance(answer, Lease), answer
    return answer


def row_of(lake: Lakehouse, identifier: str) -> dict[str, Any] | None:
    with lake.database.reading() as connection:
        found = connection.execute(select(leases).where(leases.c.identifier == identifier)).mappings().first()
    return dict(found) if found else None


def pretend(lake: Lakehouse, identifier: str, **values: Any) -> None:
    """Change a lease as if another process had written it."""
    with lake.database.transaction() as connection:
        connection.execute(update(leases).where(leases.c.identifier == identifier).values(**values))


def test_a_second_acquirer_is_told_who_holds_the_lease(shared_lake: Lakehouse, identifier: str) -> None:
    lease = taken(try_acquire(shared_lake, identifier, "tick 7 of sales"))
    assert try_acquire(shared_lake, identifier, "somebody") == f"tick 7 of sales {ME}"
    # Other tables are free.
    assert isinstance(try_acquire(shared_lake, identifier + "x", "somebody"), Lease)
    release(shared_lake, lease)
    assert isinstance(try_acquire(shared_lake, identifier, "somebody"), Lease)


def test_releasing_twice_or_after_a_takeover_is_harmless(shared_lake: Lakehouse, identifier: str) -> None:
    lease = taken(try_acquire(shared_lake, identifier, "first"))
    pretend(shared_lake, identifier, pid_namespace="another", expires_at=time.time() - 1)
    other = taken(try_acquire(shared_lake, identifier, "second"))
    release(shared_lake, lease)
    assert row_of(shared_lake, identifier)["owner"] == other.owner  # type: ignore[index]
    release(shared_lake, other)
    release(shared_lake, other)
    assert row_of(shared_lake, identifier) is None


HOLD = """
import sys
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.leases import Lease, try_acquire
lake = open_lakehouse("trickle", uri=sys.argv[1], warehouse=sys.argv[2])
for identifier in sys.argv[3:]:
    assert isinstance(try_acquire(lake, identifier, "the victim"), Lease)
print("held", flush=True)
sys.stdin.read()
"""


def test_the_leases_of_a_killed_process_are_taken_at_once(shared_lake: Lakehouse, identifier: str) -> None:
    uri = shared_lake.database.url.render_as_string(hide_password=False)
    warehouse = shared_lake.catalog.properties["warehouse"]
    victim = subprocess.Popen(
        [sys.executable, "-c", HOLD, uri, warehouse, identifier, identifier + "2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "held\n"
        told = try_acquire(shared_lake, identifier, "me")
        assert told == f"the victim (process {victim.pid} on {socket.gethostname()})"
        os.kill(victim.pid, signal.SIGKILL)
        # Nobody has waited for it yet: it is a zombie, and still in the list of processes.
        deadline = time.monotonic() + 10
        while psutil.Process(victim.pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert isinstance(try_acquire(shared_lake, identifier, "me"), Lease)
    finally:
        victim.kill()
        victim.communicate()
    assert isinstance(try_acquire(shared_lake, identifier + "2", "me"), Lease)


def test_a_process_id_that_was_given_away_again_does_not_keep_a_lease(shared_lake: Lakehouse, identifier: str) -> None:
    taken(try_acquire(shared_lake, identifier, "long ago"))
    pretend(shared_lake, identifier, start_ticks=this_process().start_ticks - 3600)  # type: ignore[operator]
    assert isinstance(try_acquire(shared_lake, identifier, "me"), Lease)


@pytest.mark.parametrize("other", ["boot_id", "pid_namespace"])
def test_a_process_of_another_container_or_start_of_the_machine_is_never_taken_for_one_of_ours(
    shared_lake: Lakehouse, identifier: str, other: str
) -> None:
    taken(try_acquire(shared_lake, identifier, "first"))
    # The same host name, and no process of that number here: which tells nothing of the other container.
    pretend(shared_lake, identifier, pid=4_000_000, **{other: "another"})
    assert try_acquire(shared_lake, identifier, "me") == f"first (process 4000000 on {socket.gethostname()})"
    pretend(shared_lake, identifier, expires_at=time.time() - 0.01)
    taken(try_acquire(shared_lake, identifier, "me"))


def test_the_lease_of_an_earlier_version_is_taken_over_when_it_ran_out(shared_lake: Lakehouse, identifier: str) -> None:
    taken(try_acquire(shared_lake, identifier, "first"))
    pretend(shared_lake, identifier, pid=4_000_000, boot_id=None, pid_namespace=None, start_ticks=None)
    assert isinstance(try_acquire(shared_lake, identifier, "me"), str)
    pretend(shared_lake, identifier, expires_at=time.time() - 0.01)
    taken(try_acquire(shared_lake, identifier, "me"))


@pytest.mark.parametrize("minutes", [-20, 20])
def test_on_postgresql_a_worker_whose_clock_is_wrong_neither_steals_a_lease_nor_keeps_it_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    right = time.time
    with open_lakehouse("trickle", uri=new_database(), warehouse=f"file://{tmp_path}") as lake:

        def of_another_container(name: str) -> None:
            pretend(lake, name, pid_namespace="another")

        taken(try_acquire(lake, "default.a", "right"))
        of_another_container("default.a")
        monkeypatch.setattr(time, "time", lambda: right() + 60 * minutes)
        assert isinstance(try_acquire(lake, "default.a", "wrong"), str)
        assert module.forget_dead(lake) == 0
        taken(try_acquire(lake, "default.b", "wrong"))
        of_another_container("default.b")
        monkeypatch.undo()
        assert isinstance(try_acquire(lake, "default.b", "right"), str)
        row = row_of(lake, "default.b")
        assert row is not None
        assert right() + 30 < row["expires_at"] < right() + 90


def test_a_lost_lease_is_noticed_by_asking(shared_lake: Lakehouse, identifier: str) -> None:
    lease = taken(try_acquire(shared_lake, identifier, "slow"))
    check(shared_lake, lease)
    pretend(shared_lake, identifier, pid_namespace="another", expires_at=time.time() - 1)
    check(shared_lake, lease)  # nobody has it
    taken(try_acquire(shared_lake, identifier, "quick"))
    with pytest.raises(CommitConflict, match="was taken over by another process"):
        check(shared_lake, lease)


def test_a_lease_of_another_host_is_taken_over_only_when_it_ran_out(shared_lake: Lakehouse, identifier: str) -> None:
    taken(try_acquire(shared_lake, identifier, "first"))
    # No process here has that number, but this says nothing about the other machine.
    pretend(shared_lake, identifier, host="elsewhere", boot_id="another", pid=4_000_000)
    holder = try_acquire(shared_lake, identifier, "me")
    assert isinstance(holder, str)
    assert holder.startswith("first (process 4000000 on elsewhere)")
    pretend(shared_lake, identifier, expires_at=time.time() - 0.01)
    lease = taken(try_acquire(shared_lake, identifier, "me"))
    row = row_of(shared_lake, identifier)
    assert row is not None
    assert (row["owner"], row["holder"], row["host"], row["pid"]) == (
        lease.owner,
        "me",
        socket.gethostname(),
        os.getpid(),
    )


def test_a_lease_that_was_taken_over_cannot_commit(shared_lake: Lakehouse, identifier: str) -> None:
    commit(shared_lake, [stage_rows(shared_lake, identifier, [{"epoch": 0, "name": "x"}])])
    lease = taken(try_acquire(shared_lake, identifier, "slow"))
    staged = stage_rows(shared_lake, identifier, [{"epoch": 1, "name": "x"}], replace=True)
    pretend(shared_lake, identifier, pid_namespace="another", expires_at=time.time() - 1)
    other = taken(try_acquire(shared_lake, identifier, "quick"))

    def with_lease(mine: Lease) -> Any:
        def also(connection: Connection) -> None:
            require(shared_lake, connection, mine)

        return also

    with pytest.raises(CommitConflict) as caught:
        commit(shared_lake, [staged], with_lease(lease))
    assert str(caught.value) == (
        f"Table {identifier} was taken over by another process while this one was refreshing it; nothing was "
        f"published. The next tick goes on from the published state."
    )
    assert caught.value.tables == (identifier,)
    assert rows_of(shared_lake, identifier) == [{"epoch": 0, "name": "x"}]
    commit(shared_lake, [staged], with_lease(other))
    assert rows_of(shared_lake, identifier) == [{"epoch": 1, "name": "x"}]


def test_a_lease_that_ran_out_but_that_nobody_took_can_still_commit(shared_lake: Lakehouse, identifier: str) -> None:
    lease = taken(try_acquire(shared_lake, identifier, "slow"))
    pretend(shared_lake, identifier, expires_at=time.time() - 1)
    with shared_lake.database.transaction() as connection:
        require(shared_lake, connection, lease)
    assert row_of(shared_lake, identifier)["expires_at"] > time.time()  # type: ignore[index]


def test_renewing_puts_the_end_off_and_never_takes_a_lease_back(shared_lake: Lakehouse, identifier: str) -> None:
    lease = taken(try_acquire(shared_lake, identifier, "slow"))
    pretend(shared_lake, identifier, pid_namespace="another", expires_at=time.time() + 1)
    renew(shared_lake, lease)
    assert row_of(shared_lake, identifier)["expires_at"] > time.time() + 30  # type: ignore[index]
    pretend(shared_lake, identifier, expires_at=time.time() - 1)
    other = taken(try_acquire(shared_lake, identifier, "quick"))
    renew(shared_lake, lease)
    assert row_of(shared_lake, identifier)["owner"] == other.owner  # type: ignore[index]


def test_of_eight_threads_that_race_for_a_lease_one_gets_it(shared_lake: Lakehouse, identifier: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        for number in range(10):
            name, start = f"{identifier}_{number}", threading.Barrier(8)

            def race(one: int, name: str = name, start: threading.Barrier = start) -> Lease | str:
                start.wait()
                return try_acquire(shared_lake, name, f"thread {one}")

            answers = list(threads.map(race, range(8)))
            winners = [answer for answer in answers if isinstance(answer, Lease)]
            assert len(winners) == 1, answers
            assert row_of(shared_lake, name)["owner"] == winners[0].owner  # type: ignore[index]
            # An old lease that ran out is raced for in the same way.
            pretend(shared_lake, name, pid_namespace="another", expires_at=time.time() - 1)
            start.reset()
            again = [answer for answer in threads.map(race, range(8)) if isinstance(answer, Lease)]
            assert len(again) == 1


def test_holding_waits_its_turn_and_gives_everything_back(shared_lake: Lakehouse, identifier: str) -> None:
    names = [identifier, identifier + "b"]
    order: list[str] = []
    inside = threading.Event()

    def first() -> None:
        with holding(shared_lake, names, "first") as held:
            assert sorted(held) == names
            inside.set()
            time.sleep(0.3)
            order.append("first")

    def second() -> None:
        inside.wait()
        with holding(shared_lake, names[::-1], "second"):
            order.append("second")

    with ThreadPoolExecutor(2) as threads:
        for future in [threads.submit(first), threads.submit(second)]:
            future.result()
    assert order == ["first", "second"]
    assert [row_of(shared_lake, name) for name in names] == [None, None]


def test_holding_gives_up_with_the_name_of_the_holder_and_keeps_nothing(
    shared_lake: Lakehouse, identifier: str
) -> None:
    blocked = taken(try_acquire(shared_lake, identifier + "z", "tick 7 of sales"))
    began = time.monotonic()
    with pytest.raises(LeaseHeld) as caught, holding(shared_lake, [identifier, blocked.identifier], "me", wait=0.3):
        pytest.fail("not held")
    assert 0.3 <= time.monotonic() - began < 5
    assert str(caught.value) == (
        f"Table {identifier}z is being refreshed by tick 7 of sales {ME}. Wait until it is done, then try again."
    )
    assert row_of(shared_lake, identifier) is None
    assert row_of(shared_lake, blocked.identifier)["owner"] == blocked.owner  # type: ignore[index]


def test_waiting_is_over_after_the_given_time_however_many_tables_are_held_by_others(
    shared_lake: Lakehouse, identifier: str
) -> None:
    names = [f"{identifier}{letter}" for letter in "abc"]
    others = [taken(try_acquire(shared_lake, name, "other")) for name in names]
    letting_go = threading.Timer(0.8, release, (shared_lake, others[0]))
    letting_go.start()
    began = time.monotonic()
    with pytest.raises(LeaseHeld, match=f"Table {names[1]} is being"), holding(shared_lake, names, "me", wait=1.0):
        pytest.fail("not held")
    assert time.monotonic() - began < 1.7
    letting_go.join()


def test_a_table_named_twice_does_not_wait_for_itself(shared_lake: Lakehouse, identifier: str) -> None:
    with holding(shared_lake, [identifier, identifier], "me", wait=0) as held:
        assert list(held) == [identifier]


def test_an_error_inside_gives_the_leases_back_and_is_the_one_that_is_seen(
    shared_lake: Lakehouse, identifier: str
) -> None:
    with pytest.raises(ZeroDivisionError), holding(shared_lake, [identifier], "me"):
        _ = 1 / 0
    assert row_of(shared_lake, identifier) is None


def test_leases_are_renewed_while_they_are_held_and_while_others_are_waited_for(
    shared_lake: Lakehouse, identifier: str, monkeypatch: pytest.MonkeyPatch, tuned: Tuned
) -> None:
    blocked = taken(try_acquire(shared_lake, identifier + "z", "other"))
    renewed: list[str] = []

    def noting(lake: Lakehouse, lease: Lease) -> None:
        renew(lake, lease)
        renewed.append(lease.identifier)
        if renewed == [identifier] * 2:
            # Only now the other table becomes free.
            release(shared_lake, blocked)

    monkeypatch.setattr(module, "renew", noting)
    tuned(lease_seconds=0.2)
    with holding(shared_lake, [identifier, blocked.identifier], "me", wait=60):
        deadline = time.monotonic() + 60
        while blocked.identifier not in renewed:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    # And not one moment longer.
    time.sleep(0.2)
    before = len(renewed)
    time.sleep(0.2)
    assert len(renewed) == before


def test_leases_are_renewed_after_any_error(
    shared_lake: Lakehouse, identifier: str, monkeypatch: pytest.MonkeyPatch, tuned: Tuned
) -> None:
    tries, renewed = [ValueError("unforeseen"), KeyError("and again")], threading.Event()

    def failing(lake: Lakehouse, lease: Lease) -> None:
        if tries:
            raise tries.pop()
        renewed.set()

    monkeypatch.setattr(module, "renew", failing)
    tuned(lease_seconds=0.1)
    with holding(shared_lake, [identifier], "me"):
        assert renewed.wait(30)


def test_an_error_while_giving_back_does_not_hide_the_first_one(
    shared_lake: Lakehouse, identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(lake: Lakehouse, lease: Lease) -> None:
        raise ValueError("while cleaning up")

    monkeypatch.setattr(module, "release", failing)
    with pytest.raises(ZeroDivisionError), holding(shared_lake, [identifier], "me"):
        _ = 1 / 0
