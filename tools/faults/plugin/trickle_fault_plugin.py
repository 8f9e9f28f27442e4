"""A plugin for the runs of pytest: which test failed first, by its whole id, which is not always what pytest prints."""

from __future__ import annotations

import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """An older tree may not know the markers of the layers, and pytest refuses expressions with unknown ones."""
    for name in ("spark", "airflow", "server", "e2e", "slow", "soak", "seeded", "hypothesis"):
        config.addinivalue_line("markers", f"{name}: a layer of the tests")


def note(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Write down what failed."""
    if report.failed:
        with open(os.environ["TRICKLE_FAULT_FAILED"], "a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\0")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Of a test."""
    note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Of a file that cannot be imported."""
    note(report)
