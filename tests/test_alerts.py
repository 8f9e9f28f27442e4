"""Callbacks of a pipeline outside of Airflow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from airflow_trickle.alerts import BadCallback, alert, callback_at, non_convergence_details
from airflow_trickle.errors import NonConvergence
from airflow_trickle.results import Iteration

ERROR = NonConvergence(
    "it did not settle",
    unit="cycle_a",
    members=("a", "b"),
    trace=[
        Iteration(number=1, phase="derive", changes={"a": 1, "b": 0}),
        Iteration(number=2, phase="derive", changes={"a": 2, "b": 3}),
    ],
    hint="Look at b.",
)
MODULE = """
heard = []
def listen(context): heard.append(context)
class Notifier:
    def notify(self, context): heard.append(("notified", context))
    def __call__(self, context): self.notify(context)
class Needs:
    def __init__(self, argument): pass
    def notify(self, context): pass
def fails(context): raise RuntimeError("no network")
number = 5
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "my_alerts.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_alerts", raising=False)
    import importlib

    return importlib.import_module("my_alerts")


def test_what_a_callback_is_told() -> None:
    assert non_convergence_details(ERROR, pipeline="p", cap=2) == {
        "pipeline": "p",
        "unit": "cycle_a",
        "members": ["a", "b"],
        "iterations": 2,
        "cap": 2,
        "changes_per_iteration": [{"a": 1, "b": 0}, {"a": 2, "b": 3}],
        "last_delta": 5,
        "hint": "Look at b.",
        "error": "it did not settle",
    }
    empty = NonConvergence("no", unit="u", members=[], trace=[])
    assert non_convergence_details(empty, pipeline="p", cap=0)["last_delta"] == 0


def test_a_function_or_a_notifier_is_called(module: Any) -> None:
    alert({"on_non_convergence_callback": "my_alerts.listen"}, {"unit": "u"})
    alert({"on_non_convergence_callback": "my_alerts.Notifier"}, {"unit": "u"})
    alert({"on_failure_callback": "my_alerts.listen"}, {"unit": "u"})
    assert module.heard == [{"trickle": {"unit": "u"}}, ("notified", {"trickle": {"unit": "u"}})]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("my_alerts.fails", "no network"),
        ("my_alerts.number", "'my_alerts.number' cannot be called."),
        ("no_such_module.x", "'no_such_module.x' cannot be imported: No module named 'no_such_module'."),
    ],
)
def test_a_callback_that_fails_does_not_hide_why_it_was_called(
    module: Any, caplog: pytest.LogCaptureFixture, path: str, why: str
) -> None:
    alert({"on_non_convergence_callback": path}, {"unit": "u"})
    assert [record.getMessage() for record in caplog.records] == [
        f"on_non_convergence_callback: calling '{path}' failed: {why}"
    ]


def test_a_notifier_must_do_without_arguments(module: Any) -> None:
    with pytest.raises(BadCallback, match=r"'my_alerts\.Needs' cannot be imported: .*argument"):
        callback_at("my_alerts.Needs")
