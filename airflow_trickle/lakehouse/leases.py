"""Leases: one process at a time refreshes a table; a dead one's lease is taken over.

How long a lease lasts is measured by the clock of the database: those of the workers may differ by minutes.

A tick whose work on a table is spread over several tasks claims it: between its tasks no process holds the lease, and
still nobody else gets it, until the tick gives the claim back or gives no sign of life for long.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from airflow_trickle.errors import CommitConflict, LeaseHeld, TrickleError, WarehouseUnavailable
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.hosts import advice, warn_of_other_hosts
from airflow_trickle.lakehouse.processes import is_gone, this_process
from airflow_trickle.lakehouse.tables import leases
from airflow_trickle.tuning import tuning

log = logging.getLogger("airflow_trickle")

#: A tick whose tasks stopped coming is believed dead after this long: a busy scheduler takes minutes to start one.
CLAIM_SECONDS = 900.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Lease:
    """The right to write a table, held by this process."""

    identifier: str
    owner: str


def try_acquire(lake: Lakehouse, identifier: str, holder: str, claim: str | None = None) -> Lease | str:
    """Take the lease of a table, or say who has it.

    ``claim`` is the tick that keeps the table for itself beyond this process. It need not wait long for another tick of
    the same pipeline, which has mostly ended: Airflow runs one at a time, but for backfills.
    """
    owner = uuid.uuid4().hex
    key = (leases.c.catalog == lake.name) & (leases.c.identifier == identifier)

    def acquire(connection: Connection) -> str | None:
        """Who has it; None: it is ours."""
        warn_of_other_hosts(lake.database, connection)
        row = connection.execute(select(leases).where(key).with_for_update()).mappings().first()
        # Only now: the row may have been waited for.
        now = lake.database.now(connection)
        me = this_process()
        values: dict[str, Any] = {
            "owner": owner,
            "holder": holder,
            "host": socket.gethostname(),
            "pid": me.pid,
            "process_started": 0.0,  # of layouts before 6
            "boot_id": me.boot_id,
            "pid_namespace": me.pid_namespace,
            "start_ticks": me.start_ticks,
            "expires_at": now + tuning().lease_seconds,
            "claim": claim,
            "claimed_until": None if claim is None else now + CLAIM_SECONDS,
        }
        if row is None:
            connection.execute(insert(leases).values(catalog=lake.name, identifier=identifier, **values))
        elif not _is_free(dict(row), now):
            return f"{row['holder']} (process {row['pid']} on {row['host']}){_of_another_host(lake, row['host'])}"
        elif _is_claimed(dict(row), now) and not _may_take_over(dict(row), claim, now):
            return f"tick {row['claim']}, whose atomic group is not published yet"
        else:
            connection.execute(update(leases).where(key).values(**values))
        return None

    try:
        other = lake.database.run(acquire)
    except IntegrityError:
        # Two inserted at the same moment, and the primary key let the other one through.
        return "another process"
    return Lease(identifier, owner) if other is None else other


def _of_another_host(lake: Lakehouse, host: str) -> str:
    shared = lake.database.is_sqlite and host != socket.gethostname()
    return f", another host, though the catalog is an SQLite file. {advice(lake.name).rstrip('.')}" if shared else ""


def _is_free(row: Mapping[str, Any], now: float) -> bool:
    """Whether no living process holds it."""
    return bool(row["expires_at"] < now or is_gone(row))


def _is_claimed(row: Mapping[str, Any], now: float) -> bool:
    return row["claim"] is not None and row["claimed_until"] >= now


def _may_take_over(row: Mapping[str, Any], claim: str | None, now: float) -> bool:
    """Whether a claim is a tick's own, or that of another tick of its pipeline without a recent sign of life."""
    if claim is None or row["claim"] == claim:
        return claim is not None
    # A tick's name begins with its pipeline's.
    same = row["claim"].partition("/")[0] == claim.partition("/")[0]
    return bool(same and row["claimed_until"] - CLAIM_SECONDS + tuning().claim_take_over_seconds < now)


def release(lake: Lakehouse, lease: Lease) -> None:
    """Give a lease back, leaving the claim of its tick; harmless when somebody took it over."""

    def give_back(connection: Connection) -> None:
        until = lake.database.now(connection) + CLAIM_SECONDS
        free = {"owner": "", "host": "", "pid": 0, "boot_id": None, "expires_at": 0.0, "claimed_until": until}
        mine = _held(lake, lease)
        if connection.execute(update(leases).where(mine, leases.c.claim.is_not(None)).values(**free)).rowcount == 0:
            connection.execute(delete(leases).where(mine))

    lake.database.run(give_back)


def unclaim(lake: Lakehouse, connection: Connection, tick_id: str, identifiers: Collection[str]) -> None:
    """Give back what a tick keeps for itself; a process that is at work on a table goes on."""
    ours = (leases.c.catalog == lake.name) & (leases.c.claim == tick_id) & leases.c.identifier.in_(sorted(identifiers))
    connection.execute(delete(leases).where(ours, leases.c.owner == ""))
    connection.execute(update(leases).where(ours).values(claim=None, claimed_until=None))


def is_at_work(lake: Lakehouse, tick_id: str, identifiers: Collection[str]) -> bool:
    """Whether a process holds one of some tables for a tick that claims them."""
    ours = (leases.c.catalog == lake.name) & (leases.c.claim == tick_id) & leases.c.identifier.in_(sorted(identifiers))
    with lake.database.reading() as connection:
        rows = connection.execute(select(leases).where(ours, leases.c.owner != "")).mappings().all()
        now = lake.database.now(connection)
    return any(not _is_free(dict(row), now) for row in rows)


def forget_dead(lake: Lakehouse) -> int:
    """Remove the leases of processes that are gone; returns how many there were."""
    with lake.database.reading() as connection:
        query = select(leases).where(leases.c.catalog == lake.name)
        rows = [dict(row) for row in connection.execute(query).mappings()]
        now = lake.database.now(connection)
    dead = sorted(
        (row for row in rows if _is_free(row, now) and not _is_claimed(row, now)), key=lambda row: row["identifier"]
    )

    def forget(connection: Connection) -> None:
        for row in dead:
            key = _held(lake, Lease(row["identifier"], row["owner"]))
            # It may have been renewed since, if it had only run out.
            as_seen = leases.c.expires_at == row["expires_at"]
            unclaimed = leases.c.claim.is_(None) | (leases.c.claimed_until < now)
            connection.execute(delete(leases).where(key, as_seen, unclaimed))

    if dead:
        lake.database.run(forget)
    return len(dead)


def renew(lake: Lakehouse, lease: Lease) -> None:
    """Say that the holder is alive."""
    lake.database.run(lambda connection: _renewed(lake, connection, lease))


def _renewed(lake: Lakehouse, connection: Connection, lease: Lease) -> bool:
    """Put the end of a lease off; false if it is ours no longer."""
    until = lake.database.now(connection) + tuning().lease_seconds
    held = connection.execute(update(leases).where(_held(lake, lease)).values(expires_at=until))
    return bool(held.rowcount == 1)


def require(lake: Lakehouse, connection: Connection, lease: Lease) -> None:
    """Inside a commit: fail unless the lease is still ours, and keep it so until the commit is done."""
    if not _renewed(lake, connection, lease):
        raise _lost(lease)


def check(lake: Lakehouse, *held: Lease) -> None:
    """Between the phases of a refresh: fail if a lease is ours no longer, rather than at the commit.

    A process that was stopped for long, or whose machine was, finds out with this.
    """
    for lease in held:
        with lake.database.reading() as connection:
            found = connection.execute(select(leases.c.owner).where(_held(lake, lease))).first()
        if found is None:
            raise _lost(lease)


@contextmanager
def explaining_loss(lake: Lakehouse, held: Collection[Lease]) -> Iterator[None]:
    """When a file cannot be read or written, a lost lease is the cause to tell: who took over removes files of ours.

    Raises:
        CommitConflict: so it was.
    """
    try:
        yield
    except (OSError, WarehouseUnavailable) as error:
        lost = _lost_one(lake, held)
        if lost is None:
            raise
        raise lost from error


def _lost_one(lake: Lakehouse, held: Collection[Lease]) -> CommitConflict | None:
    """What to tell if one of the leases is known to be ours no longer."""
    try:
        check(lake, *held)
    except CommitConflict as lost:
        return lost
    except TrickleError:
        return None  # the database does not answer; the first error is the one to show
    return None


def _lost(lease: Lease) -> CommitConflict:
    return CommitConflict(
        f"Table {lease.identifier} was taken over by another process while this one was refreshing it; "
        f"nothing was published. The next tick goes on from the published state.",
        [lease.identifier],
    )


def _held(lake: Lakehouse, lease: Lease) -> Any:
    return (leases.c.catalog == lake.name) & (leases.c.identifier == lease.identifier) & (leases.c.owner == lease.owner)


@contextmanager
def holding(
    lake: Lakehouse, identifiers: list[str], holder: str, wait: float | None = None, claim: str | None = None
) -> Iterator[dict[str, Lease]]:
    """Hold the leases of some tables for the length of a block, renewing them meanwhile.

    With ``claim``, the tables stay claimed by that tick when the block is done.

    Raises:
        LeaseHeld: somebody else still has one of them after ``wait`` seconds, or `Tuning.lease_wait_seconds`.
        CommitConflict: a file could not be read or written, and one of them was taken over by another process.
    """
    held: dict[str, Lease] = {}
    stop = threading.Event()
    deadline = time.monotonic() + (tuning().lease_wait_seconds if wait is None else wait)
    # From the first lease on: waiting for the others may take longer than a lease lasts.
    # In a copy of this context: it renews for as long as this caller's record says.
    keep_alive = (_keep_alive, lake, held, stop, claim)
    threading.Thread(target=copy_context().run, args=keep_alive, daemon=True).start()
    try:
        # In one order everywhere, so that two processes never wait for each other.
        for identifier in sorted(set(identifiers)):
            held[identifier] = _acquire(lake, identifier, holder, deadline, claim)
        with explaining_loss(lake, held.values()):
            yield held
    finally:
        stop.set()
        for lease in held.values():
            try:
                release(lake, lease)
            except Exception as error:
                # The catalog is away: the lease runs out by itself, and the first error is the one to show.
                log.debug("A lease was not given back, and runs out by itself: %s", error)
                break


def _acquire(lake: Lakehouse, identifier: str, holder: str, deadline: float, claim: str | None) -> Lease:
    while True:
        answer = try_acquire(lake, identifier, holder, claim)
        if isinstance(answer, Lease):
            return answer
        if time.monotonic() >= deadline:
            raise LeaseHeld(
                f"Table {identifier} is being refreshed by {answer}. Wait until it is done, then try again."
            )
        time.sleep(_POLL_SECONDS)


def _keep_alive(lake: Lakehouse, held: dict[str, Lease], stop: threading.Event, claim: str | None) -> None:
    while not stop.wait(tuning().lease_seconds / 4):
        try:
            for lease in list(held.values()):
                renew(lake, lease)
            if claim is not None:
                _renew_claims(lake, claim)
        except Exception as error:
            # Mostly the database is away for a moment. Whatever it is, a thread that ended would let the lease run out
            # under a living holder; the commit checks the lease again anyway.
            log.debug("A lease was not renewed, which is tried again: %s", error)


def _renew_claims(lake: Lakehouse, claim: str) -> None:
    """Say that a tick is alive: while one of its tables is worked on, the others wait for it."""

    def renew_all(connection: Connection) -> None:
        ours = (leases.c.catalog == lake.name) & (leases.c.claim == claim)
        # In the order of every commit, so that two processes never wait for each other.
        connection.execute(select(leases.c.identifier).where(ours).order_by(leases.c.identifier).with_for_update())
        until = lake.database.now(connection) + CLAIM_SECONDS
        connection.execute(update(leases).where(ours).values(claimed_until=until))

    lake.database.run(renew_all)
