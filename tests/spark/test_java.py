from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.errors import SparkUnavailable
from airflow_trickle.spark import java
from airflow_trickle.spark.java import find_java

INSTALL = "apt-get install -y openjdk-17-jre-headless"


@pytest.fixture(autouse=True)
def _on_debian(monkeypatch):
    monkeypatch.setattr(java, "_install_command", lambda: INSTALL)


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


def test_no_java():
    with pytest.raises(SparkUnavailable) as caught:
        find_java({"PATH": "/nowhere"})
    assert str(caught.value) == (
        "Java was not found (JAVA_HOME is not set, no 'java' on the PATH); the embedded Spark needs Java 17 "
        "or newer. Install it with: apt-get install -y openjdk-17-jre-headless"
    )


def test_java_home_without_java(tmp_path):
    with pytest.raises(SparkUnavailable) as caught:
        find_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})
    assert str(caught.value) == (
        f"JAVA_HOME is '{tmp_path}', but there is no program bin/java in it; the embedded Spark needs "
        f"Java 17 or newer. Install it with: {INSTALL}"
    )


@pytest.mark.parametrize(("version", "number"), [("11.0.2", 11), ("1.8.0_392", 8)])
def test_java_too_old(tmp_path, version, number):
    home = fake_java(tmp_path, version)
    with pytest.raises(SparkUnavailable, match=f"bin/java is Java {number}; the embedded Spark needs Java 17"):
        find_java({"JAVA_HOME": str(home)})


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_java_home_comes_before_the_path(tmp_path, version):
    home = fake_java(tmp_path / "good", version)
    old = fake_java(tmp_path / "old", "11")
    assert find_java({"JAVA_HOME": str(home), "PATH": str(old / "bin")}) == home
    assert find_java({"PATH": str(home / "bin")}) == home
