"""The notifier in the places where Airflow calls it, and the filter in front of a pipeline's own callback."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_trickle.notifications.non_convergence import NonConvergenceNotifier, OnNonConvergence, message_of
from airflow_trickle.operators.failures import DidNotSettle

DETAILS: dict[str, Any] = {
    "pipeline": "reach",
    "unit": "cycle_a",
    "members": ["a", "b"],
    "iterations": 7,
    "cap": 7,
    "changes_per_iteration": [{"a": number, "b": 1} for number in range(7)],
    "last_delta": 7,
    "hint": "Every pass adds a row: say UNION.",
    "error": "'a' and 'b' did not settle within 7 passes.",
}
FAILURE = DidNotSettle("it did not settle", DETAILS)
TOLD = """\
Pipeline reach: a and b did not settle in 7 passes of at most 7; nothing was published.
  … 2 passes before
  pass 3: a 2, b 1
  pass 4: a 3, b 1
  pass 5: a 4, b 1
  pass 6: a 5, b 1
  pass 7: a 6, b 1
Every pass adds a row: say UNION.
When it is mended: trickle resume a"""

heard: list[Any] = []


def listen(context: Any) -> None:
    heard.append(context)


@pytest.fixture(autouse=True)
def _silence() -> None:
    heard.clear()


def test_a_callback_hears_only_of_what_did_not_settle() -> None:
    callback = OnNonConvergence(listen)
    callback({"exception": ValueError("something else"), "dag": 1})
    callback({"dag": 1})
    assert heard == []
    callback({"exception": FAILURE, "dag": 1})
    assert heard == [{"exception": FAILURE, "dag": 1, "trickle": DETAILS}]


@pytest.mark.parametrize(
    "context",
    [{"exception": FAILURE}, {"trickle": DETAILS}, {"trickle": DETAILS, "exception": FAILURE}],
    ids=["on_failure_callback", "without Airflow", "on_non_convergence_callback"],
)
def test_the_notifier_says_what_to_do(context: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    NonConvergenceNotifier()(dict(context))
    assert [record.getMessage() for record in caplog.records] == [TOLD]


@pytest.mark.parametrize("also", [listen, f"{__name__}.listen"], ids=["function", "path"])
def test_the_notifier_tells_somebody_else_too(also: Any) -> None:
    NonConvergenceNotifier(also=also)({"exception": FAILURE})
    (context,) = heard
    assert context["trickle"] == DETAILS


@pytest.mark.parametrize("context", [{}, {"exception": None}, {"exception": ValueError("another")}])
def test_the_notifier_is_silent_about_other_failures(context: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    NonConvergenceNotifier(also=listen)(context)
    assert (caplog.records, heard) == ([], [])


def test_a_single_table_in_words() -> None:
    told = message_of({**DETAILS, "members": ["t"], "changes_per_iteration": [{"t": 5}], "hint": "", "cap": 1})
    assert told == (
        "Pipeline reach: t did not settle in 7 passes of at most 1; nothing was published.\n"
        "  pass 1: t 5\n"
        "When it is mended: trickle resume t"
    )
