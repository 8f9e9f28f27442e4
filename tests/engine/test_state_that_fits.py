"""Auxiliary state is used only for the query and the inputs that it stands for, and ranks only for cycles."""

from __future__ import annotations

import pytest

from airflow_trickle.engine import kept
from airflow_trickle.engine.fixpoint import ranks
from airflow_trickle.engine.fixpoint.ranks import Lines, Ranks
from airflow_trickle.engine.kept import Entries, Kept
from airflow_trickle.lakehouse.snapshots import Version
from airflow_trickle.lakehouse.state import Frontier


def frontier(snapshot: int, schema: int = 0) -> Frontier:
    version = {"default.s": Version(snapshot, schema)}
    return Frontier(version, version)


STATE = Kept({0: Entries(("state.parquet",), ["n"], 8)}).as_json("query", frontier(1))
RANKS = Ranks(3, {"r": Lines(("ranks.parquet",), (), ["n"], 1, 0)}).as_json("query", frontier(1))


def test_state_is_that_of_one_query_over_one_state_of_its_inputs() -> None:
    assert kept.noted_of(STATE, "query", frontier(1)) is not None
    assert kept.noted_of(None, "query", frontier(1)) is None
    assert kept.noted_of(STATE, "another", frontier(1)) is None
    assert kept.noted_of(STATE, "query", frontier(2)) is None
    assert kept.noted_of(STATE, "query", frontier(1, schema=1)) is None


def test_ranks_are_those_of_one_query_over_one_state_of_its_inputs() -> None:
    assert ranks.carried(RANKS, "query", frontier(1), frontier(2)) is not None
    assert ranks.carried(RANKS, "another", frontier(1), frontier(2)) is None
    assert ranks.carried(RANKS, "query", frontier(3), frontier(4)) is None


def test_state_and_ranks_are_not_taken_for_each_other() -> None:
    assert kept.noted_of(RANKS, "query", frontier(1)) is None
    assert ranks.carried(STATE, "query", frontier(1), frontier(2)) is None


@pytest.mark.parametrize(("text", "carry"), [(STATE, kept.carried), (RANKS, ranks.carried)], ids=["state", "ranks"])
def test_what_is_carried_on_stands_for_the_later_inputs_only(text: str, carry: type) -> None:
    after = carry(text, "query", frontier(1), frontier(2))
    assert carry(after, "query", frontier(2), frontier(3)) is not None
    assert carry(after, "query", frontier(1), frontier(3)) is None
