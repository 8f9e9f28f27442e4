"""Asks an advisory service whether a pinned dependency has a known vulnerability (pip-audit).

Where the service cannot be reached the check is skipped, with the reason: the network is not a fault of the change.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: In an environment of its own: its dependencies are not those of the package.
PIP_AUDIT = "pip-audit==2.10.1"
#: argparse's code for a command that it does not understand, which is a fault of ours.
_USAGE = 2


@dataclass(frozen=True)
class Outcome:
    """Whether the check passes, and what to print."""

    passed: bool
    text: str


def outcome_of(returncode: int, printed: str, complaint: str) -> Outcome:
    """What a run of pip-audit means.

    It prints a report if, and only if, it has asked about every package.

    Args:
        returncode: How it ended.
        printed: Its standard output.
        complaint: Its standard error.
    """
    last = (complaint.strip().splitlines() or ["it gave no reason"])[-1]
    if returncode == _USAGE:
        return Outcome(False, f"pip-audit was called wrongly: {last}")
    try:
        packages = json.loads(printed)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Outcome(True, f"SKIPPED: the dependencies were not audited: {last}")
    found = [
        f"  {package['name']} {package['version']}: {one['id']}, fixed in {', '.join(one['fix_versions']) or 'none'}"
        for package in packages
        for one in package.get("vulns", ())
    ]
    if found:
        return Outcome(False, "\n".join([f"{len(found)} known vulnerabilities in constraints.txt:", *found]))
    return Outcome(True, f"No known vulnerability in the {len(packages)} packages of constraints.txt")


def main() -> None:
    """Install pip-audit apart from everything else, and let it read constraints.txt."""
    with tempfile.TemporaryDirectory(prefix="trickle-audit-") as scratch:
        venv.create(scratch, with_pip=True)
        python = str(Path(scratch) / "bin" / "python")
        pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check", PIP_AUDIT)
        installed = subprocess.run(pip, capture_output=True, text=True, check=False)
        if installed.returncode:
            reason = (installed.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            print(f"SKIPPED: the dependencies were not audited: {PIP_AUDIT} could not be installed: {reason}")
            return
        audit = (python, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--timeout", "15")
        listed = ("--requirement", str(ROOT / "constraints.txt"), "--no-deps", "--disable-pip")
        done = subprocess.run((*audit, *listed), capture_output=True, text=True, check=False)
    outcome = outcome_of(done.returncode, done.stdout, done.stderr)
    print(outcome.text)
    if not outcome.passed:
        sys.exit(1)


if __name__ == "__main__":
    main()
