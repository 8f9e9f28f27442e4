"""What spark-submit gets to see: its command, its environment, and a script that is there."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from airflow_trickle.errors import SettingsError
from airflow_trickle.hooks.submit import entry_script, environment_of, submit_hook, submitted
from airflow_trickle.plan.steps import CaptureStep
from airflow_trickle.spark.target import target_from_connection

ARGUMENTS = ["--catalog", "trickle", "--submission", "12"]
CAPTURE = CaptureStep(
    name="people",
    identifier="default.people",
    pipeline="p",
    format="jdbc",
    method="snapshot",
    path=None,
    options={"password": "${conn.crm.password}", "user": "${AIRFLOW_VAR_USER}"},
    columns=None,
    watermark=None,
    definition="1",
    declared_at="p.yaml:1:1",
)


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", "spark://master:7077")
    monkeypatch.setenv("AIRFLOW_CONN_CRM", json.dumps({"conn_type": "postgres", "password": "hush"}))
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://airflow:hush@db")
    monkeypatch.setenv("AIRFLOW_VAR_USER", "ann")
    monkeypatch.setenv("AIRFLOW__TRICKLE__CATALOG", "lake")
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")


def test_the_command_names_the_request_and_nothing_else() -> None:
    extra = {
        "conf": {"spark.executor.memory": "4g", "spark.sql.files.ignoreCorruptFiles": "true"},
        "py_files": "trickle.zip",
    }
    target = target_from_connection(conn_type="spark", host="spark://master:7077", extra=extra)
    command = submit_hook(target, "cluster", "trickle totals", ARGUMENTS)._build_spark_submit_command("refresh.py")

    assert command[:3] == ["spark-submit", "--master", "spark://master:7077"]
    assert command[-5:] == ["refresh.py", *ARGUMENTS]
    settings = {command[at + 1] for at, word in enumerate(command) if word == "--conf"}
    assert {"spark.executor.memory=4g", "spark.log.level=WARN"} <= settings
    assert not any("ignoreCorruptFiles" in one for one in settings), "what keeps rows right is set by the driver"
    assert command[command.index("--py-files") + 1] == "trickle.zip"
    assert command[command.index("--deploy-mode") + 1] == "client"


def test_the_script_is_part_of_what_is_installed() -> None:
    script = Path(entry_script())
    assert script.parts[-2:] == ("spark_jobs", "refresh.py")
    assert "--submission" in script.read_text()


def test_a_driver_gets_no_secrets_of_airflow() -> None:
    environment = environment_of(target_from_connection(conn_type="spark", host="yarn"))

    assert not {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "AIRFLOW_CONN_CRM", "AIRFLOW_VAR_USER"} & set(environment)
    assert "SPARK_CONNECT_MODE_ENABLED" not in environment
    assert environment["AIRFLOW__TRICKLE__CATALOG"] == "lake"
    assert environment["PYSPARK_DRIVER_PYTHON"] == sys.executable
    assert environment["PATH"].split(os.pathsep)[-1] == str(Path(sys.executable).parent)


def test_a_capture_gets_what_its_options_refer_to() -> None:
    environment = environment_of(target_from_connection(conn_type="spark", host="yarn"), CAPTURE)

    assert json.loads(environment["AIRFLOW_CONN_CRM"]) == {"password": "hush"}
    assert environment["AIRFLOW_VAR_USER"] == "ann"
    assert "AIRFLOW_CONN_CLUSTER" not in environment


def test_nothing_secret_goes_into_a_cluster_by_the_command_line() -> None:
    target = target_from_connection(conn_type="spark", host="yarn", extra={"deploy-mode": "cluster"})
    environment = environment_of(target, CAPTURE)

    assert "AIRFLOW_CONN_CRM" not in environment
    assert "hush" not in str(submit_hook(target, "cluster", "x", ARGUMENTS)._build_spark_submit_command("s"))


def test_a_worker_without_spark_submit_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    target = target_from_connection(conn_type="spark", host="spark://master:7077")
    hook = submit_hook(target, "cluster", "x", ARGUMENTS)

    with pytest.raises(SettingsError) as raised:
        submitted(hook, target, {"PATH": "/nowhere"})
    assert str(raised.value) == (
        "'spark-submit' is not on the PATH of Airflow's worker, so that nothing can be submitted to "
        "spark://master:7077. Install Spark there, for example with: pip install 'airflow-trickle[spark]'"
    )


def test_what_the_provider_refuses_is_told_with_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    target = target_from_connection(conn_type="spark", host="yarn")
    monkeypatch.setenv(
        "AIRFLOW_CONN_BAD", json.dumps({"conn_type": "spark", "host": "yarn", "extra": {"spark-binary": "rm"}})
    )

    with pytest.raises(SettingsError, match="Airflow connection 'bad' cannot be used to submit: The spark-binary"):
        submit_hook(target, "bad", "x", ARGUMENTS)
