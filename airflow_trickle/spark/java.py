"""Finds a Java that Spark can run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from airflow_trickle.errors import SparkUnavailable

OLDEST = 17


def find_java(environ: Mapping[str, str] | None = None) -> Path:
    """The home folder of Java 17 or newer: ``$JAVA_HOME``, else the ``java`` on the PATH."""
    environ = os.environ if environ is None else environ
    home = environ.get("JAVA_HOME", "").strip()
    if home:
        program = Path(home) / "bin" / "java"
        if not os.access(program, os.X_OK):
            raise _unavailable(f"JAVA_HOME is '{home}', but there is no program bin/java in it")
    else:
        found = shutil.which("java", path=environ.get("PATH", ""))
        if found is None:
            raise _unavailable("Java was not found (JAVA_HOME is not set, no 'java' on the PATH)")
        program = Path(found).resolve()
    version = _version(program)
    if version < OLDEST:
        raise _unavailable(f"{program} is Java {version}")
    return program.parent.parent


def _version(program: Path) -> int:
    try:
        done = subprocess.run(  # noqa: S603
            [str(program), "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unavailable(f"{program} could not be run ({error})") from error
    # `openjdk version "17.0.15" 2025-04-15`; before Java 9 it was "1.8.0_392".
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if found is None:
        raise _unavailable(f"{program} did not tell its version")
    return int(found.group(1))


def _unavailable(what: str) -> SparkUnavailable:
    return SparkUnavailable(
        f"{what}; the embedded Spark needs Java {OLDEST} or newer. Install it with: {_install_command()}"
    )


def _install_command() -> str:
    if sys.platform == "darwin":
        return f"brew install openjdk@{OLDEST}"
    if Path("/etc/redhat-release").exists():
        return f"dnf install -y java-{OLDEST}-openjdk-headless"
    return f"apt-get install -y openjdk-{OLDEST}-jre-headless"
