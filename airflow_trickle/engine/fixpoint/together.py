"""Which states of the tables of a cycle belong together.

They are published in one commit, but a table whose rows stay the same gets no snapshot. So each snapshot says by which
queries it was made, which epochs its peers got in the same commit, and at which snapshots the others rested: that
commit has brought those to the same frontier too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from airflow_trickle.engine.holds import unit_fingerprint
from airflow_trickle.engine.identity import query_of
from airflow_trickle.engine.published import Published
from airflow_trickle.plan.steps import RefreshStep

#: In the summary of a snapshot.
UNIT = "trickle.unit"


def said_of_unit(step: RefreshStep, epochs: Mapping[str, int], resting: Mapping[str, int | None]) -> dict[str, str]:
    """What the snapshot of a table says of the commit that publishes it; nothing if it is alone in its unit.

    Args:
        step: The unit.
        epochs: By table: the epoch it gets in this commit.
        resting: By table: the snapshot that it keeps.
    """
    if len(step.tables) < 2:
        return {}
    said = {"fingerprint": unit_fingerprint(step), "epochs": dict(epochs), "resting": dict(resting)}
    return {UNIT: json.dumps(said, sort_keys=True)}


def agreed(step: RefreshStep, states: Mapping[str, Published], said: Mapping[str, str | None]) -> dict[str, Published]:
    """Past states of the tables of a unit, each with how far all of them had read; as they are if that is not sure.

    Args:
        step: The unit as it is defined now.
        states: By table: what the snapshot says that is to be shown.
        said: By table: what that snapshot says of the unit.
    """
    moments = {name: state.effective_at for name, state in states.items() if state.effective_at is not None}
    newest = max(moments, key=lambda name: moments[name])
    text, frontier = said[newest], states[newest].frontier
    if text is None or len(moments) != len(step.tables):
        return dict(states)
    noted = json.loads(text)
    if noted["fingerprint"] != unit_fingerprint(step):
        return dict(states)
    if not all(_is_of(state, name, noted) for name, state in states.items()):
        return dict(states)
    # The tables of a unit are always computed under the same settings.
    queries, settings = {table.identifier: query_of(table.definition) for table in step.tables}, states[newest].settings
    _, mark, digest = (states[newest].definition or "").partition("@")
    return {
        name: replace(state, frontier=frontier, definition=f"{queries[name]}{mark}{digest}", settings=settings)
        for name, state in states.items()
    }


def _is_of(state: Published, name: str, noted: Mapping[str, Any]) -> bool:
    """Whether a table stood just so after a commit; neither a snapshot nor an epoch ever stands for two states."""
    if name in noted["resting"]:
        return bool(state.version.snapshot_id == noted["resting"][name])
    return bool(state.epoch == noted["epochs"].get(name))
