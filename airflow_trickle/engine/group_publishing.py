"""What a member of an atomic group does with its outcome: keep it beside the catalog until the group is published."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection

from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.outcome import Outcome
from airflow_trickle.engine.publishing import AT_ONCE
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, Unseen
from airflow_trickle.lakehouse.files import missing
from airflow_trickle.lakehouse.leases import Lease, explaining_loss, holding, require
from airflow_trickle.lakehouse.prepared import read_prepared, write_prepared
from airflow_trickle.plan.steps import TableStep
from airflow_trickle.results import TableResult
from airflow_trickle.tick import Tick


@dataclass(frozen=True)
class GroupPublishing:
    """Publishes with the group."""

    unit: str
    tick: Tick
    #: What the group's epoch will be with this commit.
    epoch: int
    #: The leases of all members, if this process does the whole group; else each task takes its own.
    leases: Mapping[str, Lease] | None = None

    @property
    def word(self) -> str:
        """What was done with a snapshot, for the log."""
        return "staged"

    @property
    def summary(self) -> Mapping[str, str]:
        """What the snapshots say of the group."""
        return {"trickle.group": self.unit, "trickle.group-epoch": str(self.epoch)}

    @contextmanager
    def holding(self, lake: Lakehouse, identifiers: list[str], holder: str) -> Iterator[dict[str, Lease]]:
        """Leases that leave the tables claimed for the tick."""
        if self.leases is not None:
            ours = {name: self.leases[name] for name in identifiers}
            with explaining_loss(lake, ours.values()):
                yield ours
            return
        with holding(lake, identifiers, holder, claim=self.tick.tick_id) as leases:
            yield leases

    def done(self, lake: Lakehouse, step: TableStep, tick: Tick, decision: Decision) -> TableResult | None:
        """What is staged for this tick already, from the very same state of everything; or what was published."""
        published = AT_ONCE.done(lake, step, tick, decision)
        if published is not None:
            return published
        text = read_prepared(lake, tick.tick_id, [step.identifier]).get(step.identifier)
        said = json.loads(text) if text is not None else None
        if said is None or "frontier" not in said["status"]:
            return None
        expected = decision.published.location if decision.published is not None else None
        same = (
            said["status"]["frontier"] == decision.target.as_json()
            and said["status"]["definition"] == step.definition
            and said["expected"] == expected
            and said["group_epoch"] == self.epoch
        )
        if not same or not _is_there(lake, step.identifier, said):
            return None
        return TableResult.model_validate(said["result"])

    def publish(self, lake: Lakehouse, outcomes: Sequence[Outcome], leases: Mapping[str, Lease]) -> None:
        """Keep the outcomes for the commit of the group."""
        texts = {
            one.identifier: json.dumps({**json.loads(one.as_json()), "group_epoch": self.epoch}) for one in outcomes
        }

        def keep(connection: Connection) -> None:
            for outcome in sorted(outcomes, key=lambda one: one.identifier):
                require(lake, connection, leases[outcome.identifier])
            write_prepared(lake, connection, tick_id=self.tick.tick_id, unit=self.unit, payloads=texts)

        lake.database.run(keep)

    def note_idle(self, lake: Lakehouse, tick: Tick, decisions: Mapping[str, Decision]) -> bool:
        """Nothing yet: the commit of the group notes it."""
        return True


def _is_there(lake: Lakehouse, identifier: str, said: Mapping[str, object]) -> bool:
    """Whether what was staged was not discarded since, and none of its files is gone."""
    place, written = said["staging"], said.get("written")
    if not isinstance(place, list):
        return True
    if not isinstance(written, list):
        return False  # an earlier version did not note what it wrote
    if all(record.staging_id != place[0] for record in stagings.leftovers(lake, identifier=identifier)):
        return False
    return not missing(lake.io({}, place[1]), written)


def staged_tables(lake: Lakehouse, tick: Tick, identifiers: Collection[str]) -> list[str]:
    """Of some tables, those that are staged for a tick and whose files were not discarded since."""
    texts = read_prepared(lake, tick.tick_id, identifiers)
    return [name for name, text in texts.items() if _is_there(lake, name, json.loads(text))]


def overlay(lake: Lakehouse, tick: Tick, identifiers: Collection[str]) -> dict[str, Unseen]:
    """What some tables will be once their group is published, as far as they are staged."""
    found = {}
    for name, text in read_prepared(lake, tick.tick_id, identifiers).items():
        said = json.loads(text)
        found[name] = Unseen(said["location"], said["status"])
    return found
