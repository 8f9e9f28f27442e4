"""What an audit of the dependencies means: only a known vulnerability, or a wrong call, fails it."""

from __future__ import annotations

import json

from tools.audit import outcome_of


def report(*vulnerabilities: str) -> str:
    found = [{"id": name, "fix_versions": ["2.0"], "aliases": [], "description": ""} for name in vulnerabilities]
    packages = [{"name": "a", "version": "1.0", "vulns": found}, {"name": "b", "skip_reason": "not found"}]
    return json.dumps({"dependencies": packages, "fixes": []})


def test_a_report_without_vulnerabilities_passes() -> None:
    outcome = outcome_of(0, report(), "No known vulnerabilities found")
    assert (outcome.passed, outcome.text) == (True, "No known vulnerability in the 2 packages of constraints.txt")


def test_a_known_vulnerability_fails_with_the_version_that_mends_it() -> None:
    outcome = outcome_of(1, report("PYSEC-1", "PYSEC-2"), "Found 2 known vulnerabilities in 1 package")
    assert not outcome.passed
    assert outcome.text.splitlines() == [
        "2 known vulnerabilities in constraints.txt:",
        "  a 1.0: PYSEC-1, fixed in 2.0",
        "  a 1.0: PYSEC-2, fixed in 2.0",
    ]


def test_a_service_that_cannot_be_reached_is_skipped_with_its_reason() -> None:
    outcome = outcome_of(1, "", "INFO: …\nERROR:pip_audit._cli:Could not connect to the vulnerability feed\n")
    assert outcome.passed
    assert outcome.text == (
        "SKIPPED: the dependencies were not audited: ERROR:pip_audit._cli:Could not connect to the vulnerability feed"
    )
    assert outcome_of(1, "", "").text.endswith("it gave no reason")


def test_a_wrong_call_is_not_taken_for_a_lack_of_network() -> None:
    assert not outcome_of(2, "", "usage: …\npip-audit: error: unrecognized arguments: --x").passed
