"""Which auxiliary state is kept, and what is reported of it."""

from __future__ import annotations

import json

import pytest

from airflow_trickle.engine.kept import ROOT, Entries, Kept, noted_of, report
from airflow_trickle.engine.state_policy import Declined, StatePolicy, WhyNot
from airflow_trickle.lakehouse.state import Frontier
from tests.conftest import Tuned

MIB = 1024 * 1024
NOWHERE = Frontier({}, {})


@pytest.mark.parametrize(
    ("choice", "inputs", "why"),
    [
        ("auto", MIB, WhyNot.SMALL_INPUTS),
        ("auto", 64 * MIB, None),
        ("all", MIB, None),
        ("none", 64 * MIB, WhyNot.ASKED),
    ],
)
def test_state_is_made_by_choice_and_size(choice: str, inputs: int, why: WhyNot | None) -> None:
    assert StatePolicy(choice).why_not_made(inputs) is why


def test_a_large_part_is_declined_unless_all_is_kept() -> None:
    declined = StatePolicy().refusal(60, 0, 100, new_part=True)
    assert declined == Declined(WhyNot.LARGE_SHARE, 60, 50)
    assert StatePolicy().refusal(60, 0, 100, new_part=False) is None
    assert StatePolicy("all").refusal(60, 0, 100, new_part=True) is None


def test_the_bound_is_of_all_states_together() -> None:
    policy = StatePolicy("all", 100)
    assert policy.refusal(60, 40, 100, new_part=True) is None
    declined = policy.refusal(60, 41, 100, new_part=False)
    assert declined == Declined(WhyNot.BOUND, 101, 100)
    assert declined is not None
    assert declined.text == "state of 101 bytes would exceed state_max_bytes (100)"


def test_what_was_declined_is_tried_again_under_a_policy_that_allows_it() -> None:
    large, beyond = Declined(WhyNot.LARGE_SHARE, 60, 50), Declined(WhyNot.BOUND, 101, 100)
    assert StatePolicy().still_declines(large)
    assert not StatePolicy("all").still_declines(large)
    assert StatePolicy("all", 100).still_declines(beyond)
    assert not StatePolicy("all", 200).still_declines(beyond)
    assert not StatePolicy("auto").still_declines(beyond)


def test_what_is_kept_is_read_as_it_was_written() -> None:
    kept = Kept({ROOT: Entries(("a", "b"), {"fields": []}, 10)}, {2: Declined(WhyNot.LARGE_SHARE, 60, 50)})
    assert noted_of(kept.as_json("query", NOWHERE), "query", NOWHERE) == kept


def test_what_an_earlier_version_kept_is_understood() -> None:
    said = {"definition": "query", "inputs": {}, "files": ["a"], "declined": [2]}
    said["states"] = {"-1": {"files": ["a"], "columns": {}}}
    kept = noted_of(json.dumps(said), "query", NOWHERE)
    assert kept == Kept({ROOT: Entries(("a",), {})}, {2: Declined(WhyNot.LARGE_SHARE)})


def test_the_report_says_what_became_of_each_part(tuned: Tuned) -> None:
    tuned(aux_state_min_bytes=0)
    before = Kept({ROOT: Entries(("a",), {}, 10), 1: Entries(("b",), {}, 20), 2: Entries(("c",), {}, 5)})
    after = Kept({ROOT: Entries(("a", "x"), {}, 12), 1: Entries(("y",), {}, 18)}, {3: Declined(WhyNot.BOUND, 200, 100)})
    found = [(one.part, one.outcome, one.bytes, one.code) for one in report(StatePolicy(), 100, before, after)]
    assert found == [
        (ROOT, "added_to", 12, None),
        (1, "made", 18, None),
        (2, "removed", None, "not_needed"),
        (3, "declined", None, "bound"),
    ]


@pytest.mark.parametrize(("choice", "code"), [("auto", "small_inputs"), ("none", "asked"), ("all", "not_needed")])
def test_the_report_says_why_there_is_none(choice: str, code: str) -> None:
    (found,) = report(StatePolicy(choice), 100, None, None)
    assert (found.part, found.outcome, found.bytes, found.code) == (ROOT, "none", None, code)
