"""A refresh that fails because of auxiliary state is tried once more without it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import ArithmeticException, PySparkException, SparkRuntimeException

from airflow_trickle.engine import publish


def _finder(*args: Any, **_: Any) -> SimpleNamespace:
    kept = args[6] if len(args) > 6 else None
    return SimpleNamespace(kept=kept, tallies=SimpleNamespace(wanted=True), parts=SimpleNamespace(wanted=True))


def _found(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Any:
    def find(_work: Any, finder: SimpleNamespace) -> SimpleNamespace:
        if finder.kept is not None:
            raise error
        return finder

    run = SimpleNamespace(step=SimpleNamespace(name="t"))
    work = SimpleNamespace(run=run, session=None, target=None, held=[], views=[], meaning=None)
    monkeypatch.setattr(publish, "ChangeFinder", _finder)
    monkeypatch.setattr(publish, "_find", find)
    monkeypatch.setattr(publish, "_kept_before", lambda _work: object())
    return publish._found(work, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [
        PySparkException("Could not find x#1 in [k#2]", errorClass="INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND"),
        SparkRuntimeException("whatever it says", errorClass="USER_RAISED_EXCEPTION"),
        ArithmeticException("a sum that does not fit", errorClass="ARITHMETIC_OVERFLOW"),
    ],
    ids=["inside Spark", "entries that do not add up", "a sum in them that does not fit"],
)
def test_a_refresh_that_fails_by_its_state_goes_on_without(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    finder = _found(monkeypatch, error)
    assert finder.kept is None
    assert not finder.tallies.wanted
    assert not finder.parts.wanted


def test_other_failures_are_not_the_fault_of_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a message says decides nothing."""
    error = PySparkException("Kept lines: no room for them", errorClass="CANNOT_WRITE")
    with pytest.raises(PySparkException, match="no room"):
        _found(monkeypatch, error)
