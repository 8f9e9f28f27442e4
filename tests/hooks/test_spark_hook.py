"""Connections to Spark, as Airflow hands them out."""

from __future__ import annotations

import json
import logging

import pytest

from airflow_trickle.errors import SettingsError
from airflow_trickle.hooks.spark import TrickleSparkHook
from airflow_trickle.hooks.submit import submit_hook
from airflow_trickle.spark.target import SparkTarget


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> object:
    """Defines a connection in the environment, as JSON or URI, and asks the hook for its target."""

    def connect(conn_id: str, value: dict[str, object] | str) -> SparkTarget:
        text = value if isinstance(value, str) else json.dumps(value)
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", text)
        return TrickleSparkHook(conn_id).get_conn()

    return connect


def test_without_a_connection_spark_is_embedded() -> None:
    assert TrickleSparkHook().get_conn() == SparkTarget(kind="embedded")


def test_a_connection_asked_for_by_name_must_be_there() -> None:
    with pytest.raises(SettingsError) as raised:
        TrickleSparkHook("my_clutser").get_conn()

    assert str(raised.value) == (
        "There is no Airflow connection 'my_clutser'. Add it (type trickle_spark, host sc://…), or remove "
        "spark_conn_id to use the embedded Spark."
    )


def test_a_connection_without_host_is_embedded_with_its_settings(connect) -> None:
    extra = {"conf": {"spark.sql.shuffle.partitions": "3"}}

    assert connect("trickle_spark", {"conn_type": "trickle_spark", "extra": extra}) == SparkTarget(
        conf=(("spark.sql.shuffle.partitions", "3"),)
    )


@pytest.mark.parametrize(
    "connection",
    [
        {"conn_type": "trickle_spark", "host": "sc://spark.example:15003", "password": "s3cret"},
        {"conn_type": "trickle_spark", "host": "sc://spark.example", "port": 15003, "password": "s3cret"},
        {"conn_type": "trickle_spark", "host": "spark.example", "port": 15003, "password": "s3cret"},
        {"conn_type": "spark_connect", "host": "spark.example", "port": 15003, "password": "s3cret"},
        "trickle-spark://:s3cret@spark.example:15003",
        "sc://:s3cret@spark.example:15003",
    ],
)
def test_a_spark_connect_server(connect, connection: dict[str, object] | str) -> None:
    target = connect("far_away", connection)

    assert target.kind == "connect"
    assert target.url == "sc://spark.example:15003/;token=s3cret"


def test_user_and_encryption(connect) -> None:
    target = connect(
        "far_away",
        {"conn_type": "spark_connect", "host": "spark.example", "login": "ann", "extra": {"use_ssl": True}},
    )

    assert target.url == "sc://spark.example:15002/;use_ssl=true;user_id=ann"


@pytest.mark.parametrize(
    "connection",
    [
        {"conn_type": "spark", "host": "spark://master:7077"},
        {"conn_type": "spark", "host": "master", "port": 7077},
        "spark://master:7077",
        "spark://spark%3A%2F%2Fmaster:7077",
    ],
)
def test_a_cluster_that_work_is_submitted_to(connect, connection: dict[str, object] | str) -> None:
    target = connect("cluster", connection)

    assert (target.kind, target.url) == ("submit", "spark://master:7077")
    # What the provider's own hook makes of the same connection.
    assert submit_hook(target, "cluster", "name", [])._connection["master"] == target.url


def test_a_cluster_of_kubernetes_as_a_uri(connect) -> None:
    assert connect("kube", "k8s://https%3A%2F%2Fkube.example:443").url == "k8s://https://kube.example:443"


@pytest.mark.parametrize("conn_type", ["spark_sql", "spark_jdbc"])
def test_connections_of_other_programs_of_spark_are_refused(connect, conn_type: str) -> None:
    with pytest.raises(SettingsError) as raised:
        connect("cluster", {"conn_type": conn_type, "host": "spark://master:7077"})

    assert str(raised.value) == (
        f"Airflow connection 'cluster' is of type {conn_type}, which is for one program of Spark only. Use one of type "
        "trickle_spark or spark_connect to a Spark Connect server (sc://…), or one of type spark to a cluster "
        "(spark://…, yarn, k8s://…)."
    )


def test_a_cluster_is_not_tried_by_the_button(connect, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("cluster", "spark://master:7077")

    assert TrickleSparkHook("cluster").test_connection() == (
        True,
        "The connection is complete; nothing was submitted: spark-submit to spark://master:7077",
    )


def test_other_connections_are_refused(connect) -> None:
    with pytest.raises(SettingsError, match="'db' is of type postgres, which is not Spark"):
        connect("db", {"conn_type": "postgres", "host": "db.example"})
    for conn_type in ("spark_connect", "spark"):
        with pytest.raises(SettingsError, match="'empty' has no host"):
            connect("empty", {"conn_type": conn_type})


def test_secrets_are_not_shown(connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    target = connect("far_away", {"conn_type": "trickle_spark", "host": "sc://s.example", "password": "s3cret"})
    shown = f"{target} {target!r} {target.address} {caplog.text}"

    assert "s3cret" not in shown
    with pytest.raises(SettingsError) as raised:
        connect("bad", {"conn_type": "trickle_spark", "host": "sc://s.example:x/;token=s3cret"})
    assert "s3cret" not in str(raised.value)
