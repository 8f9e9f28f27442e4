"""A process that stood still and lost its lease notices before its next phase, and removes what it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

from airflow_trickle.engine import outcome as outcomes
from airflow_trickle.engine import publish as publishing
from airflow_trickle.engine.capture import capture as capturing
from airflow_trickle.engine.capture.capture import capture
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.errors import CommitConflict
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import data_files
from airflow_trickle.lakehouse.state import read_status
from airflow_trickle.lakehouse.tables import leases, staging
from tests.engine.protocol import house as houses
from tests.engine.protocol.house import House, NumberTask, spark, without_spark
from tests.engine.protocol.judging import Judge


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    made = House(tmp_path, f"sqlite:///{tmp_path}/catalog.db")
    without_spark(monkeypatch, made)
    return made


@pytest.fixture
def lake(house: House) -> Iterator[Lakehouse]:
    with house.open() as opened:
        tick(house, opened, "p/1")
        house.append()
        yield opened


def tick(house: House, lake: Lakehouse, tick_id: str) -> None:
    provider = spark()
    capture(lake, house.capture, tick_id, provider)
    pinned = pin(lake, house.plan.pin, tick_id)
    refresh(lake, house.solo, pinned, provider)
    refresh(lake, house.group, pinned, provider)


def taken_over(lake: Lakehouse, identifier: str) -> None:
    """What another process does while this one stands still: it takes the lease and discards the work."""
    with lake.database.transaction() as connection:
        connection.execute(update(leases).where(leases.c.identifier == identifier).values(owner="another"))
    for record in stagings.leftovers(lake, identifier=identifier):
        stagings.discard(lake, record)


def error_of(lake: Lakehouse, identifier: str) -> str:
    return read_status(lake, [identifier])[identifier].error or ""


def released(lake: Lakehouse) -> None:
    with lake.database.transaction() as connection:
        connection.execute(delete(leases))


@pytest.mark.parametrize("identifier", ["default.solo", "default.gb", "default.m"])
@pytest.mark.parametrize("phase", ["before it computes", "before it has read what it wrote", "before it stages"])
def test_a_lost_lease_is_noticed_before_the_next_phase(
    house: House, lake: Lakehouse, monkeypatch: pytest.MonkeyPatch, identifier: str, phase: str
) -> None:
    done: list[str] = []
    make_folder, write, stage = publishing.make_folder, publishing._write, publishing.stage
    capture_rows = NumberTask.write

    def standing(io: Any, folder: str) -> None:
        make_folder(io, folder)
        if phase == "before it computes" and f"/{identifier.removeprefix('default.')}-" in folder:
            taken_over(lake, identifier)
            make_folder(io, folder)

    def after(what: str, name: str) -> None:
        if name == identifier:
            done.append(what)
            if what == "computed" and phase == "before it stages":
                taken_over(lake, identifier)

    def writing(work: Any, record: Any, lease: Any) -> Any:
        found = write(work, record, lease)
        after("computed", record.identifier)
        return found

    def staging_it(lake: Lakehouse, target: Any, record: Any, **values: Any) -> Any:
        after("staged", record.identifier)
        return stage(lake, target, record, **values)

    def capturing_it(self: NumberTask, *given: Any) -> Any:
        found = capture_rows(self, *given)
        after("computed", "default.m")
        return found

    def reading(table: Any, schema: Any, paths: Any) -> Any:
        if phase == "before it has read what it wrote" and f"/{identifier.removeprefix('default.')}-" in paths[0]:
            taken_over(lake, identifier)
        return data_files(table, schema, paths)

    monkeypatch.setattr(houses, "data_files", reading)
    for module in (publishing, capturing):
        monkeypatch.setattr(module, "make_folder", standing)
        monkeypatch.setattr(module, "stage", staging_it)
    monkeypatch.setattr(publishing, "_write", writing)
    monkeypatch.setattr(NumberTask, "write", capturing_it)
    judge = Judge(house, lake)
    judge.look()
    with pytest.raises(CommitConflict, match=f"{identifier} was taken over by another process"):
        tick(house, lake, "p/2")
    assert done == (["computed"] if phase == "before it stages" else [])
    judge.look()
    assert "was taken over" in error_of(lake, identifier)
    with lake.database.reading() as connection:
        assert connection.execute(staging.select().where(staging.c.identifier == identifier)).all() == []
    monkeypatch.undo()
    without_spark(monkeypatch, house)
    released(lake)
    tick(house, lake, "p/3")
    released(lake)
    judge.look_at_the_end()


@pytest.mark.parametrize("identifier", ["default.solo", "default.gb", "default.m"])
def test_a_lease_that_is_lost_just_before_the_commit_publishes_nothing(
    house: House, lake: Lakehouse, monkeypatch: pytest.MonkeyPatch, identifier: str
) -> None:
    """The other process has not yet looked at what is staged: nothing but the lease says no."""
    lost: list[int] = []

    def committing(commit: Any, *given: Any) -> Any:
        with lake.database.transaction() as connection:
            held = update(leases).where(leases.c.identifier == identifier).values(owner="another")
            lost.append(connection.execute(held).rowcount)
        return commit(*given)

    for module in (outcomes, capturing):
        monkeypatch.setattr(module, "commit", partial(committing, module.commit))
    judge = Judge(house, lake)
    judge.look()
    with pytest.raises(CommitConflict, match=f"{identifier} was taken over by another process"):
        tick(house, lake, "p/2")
    assert lost[-1] == 1
    judge.look()
    monkeypatch.undo()
    without_spark(monkeypatch, house)
    released(lake)
    tick(house, lake, "p/3")
    released(lake)
    judge.look_at_the_end()
