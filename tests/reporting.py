"""What a run prints besides its results: profile and seed; after a failure the slowest tests and how to repeat it."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Generator

import pytest

from tests import budgets

SLOWEST = 20
#: So many failed tests are named in the command; more do not fit on a screen.
REPEATED = 10
_ROUND = "seed of the round"


def pytest_report_header() -> str:
    return f"budgets: {_settings()}" + ("" if budgets.SEED else " (the same examples on every run)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record the round in which a soak test failed: it is repeated from there, not from the run's first seed."""
    report = yield
    if report.failed and budgets.Round.seed is not None:
        report.user_properties.append((_ROUND, budgets.Round.seed))
    if report.when == "teardown":
        budgets.Round.seed = None
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR):
        return
    slowest = _slowest(terminalreporter)
    if slowest:
        terminalreporter.section(f"slowest {len(slowest)} tests")
        for seconds, test in slowest:
            terminalreporter.write_line(f"{seconds:8.2f} s  {test}")
    terminalreporter.section("how to repeat this run")
    terminalreporter.write_line(_settings())
    for seed, tests in sorted(_failed(terminalreporter).items()):
        terminalreporter.write_line(repeat_command(tests, seed))


def repeat_command(tests: list[str], seed: int) -> str:
    """The command that runs these tests again, with the examples of this run."""
    named = " ".join(shlex.quote(test) for test in tests[:REPEATED])
    more = f"  # and {len(tests) - REPEATED} more" if len(tests) > REPEATED else ""
    environment = f"TRICKLE_PROFILE={budgets.PROFILE.name} TRICKLE_SEED={seed}"
    return f"{environment} .venv/bin/python -m pytest {named}".rstrip() + more


def _settings() -> str:
    return f"profile {budgets.PROFILE.name}, seed {budgets.SEED}"


def _failed(reporter: pytest.TerminalReporter) -> dict[int, list[str]]:
    """Seed -> the tests that failed with it."""
    failed: dict[int, list[str]] = defaultdict(list)
    for report in (*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())):
        seed = dict(getattr(report, "user_properties", ())).get(_ROUND, budgets.SEED)
        if report.nodeid not in failed[seed]:
            failed[seed].append(report.nodeid)
    return failed


def _slowest(reporter: pytest.TerminalReporter) -> list[tuple[float, str]]:
    """Setup, call and teardown together."""
    seconds: dict[str, float] = defaultdict(float)
    for reports in reporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid] += report.duration
    return sorted(((total, test) for test, total in seconds.items()), reverse=True)[:SLOWEST]
