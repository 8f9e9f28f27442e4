from __future__ import annotations

import json

import pytest

from airflow_trickle.errors import SettingsError
from airflow_trickle.spark.target import (
    SparkTarget,
    other_than_airflow,
    target_from_connection,
    target_from_environment,
    target_from_url,
)


@pytest.mark.parametrize("url", [None, "", " ", "embedded", "local", "LOCAL", "local[*]"])
def test_nothing_and_local_mean_the_embedded_server(url):
    assert target_from_url(url) == SparkTarget("embedded")


@pytest.mark.parametrize(
    ("url", "normalised", "address"),
    [
        ("sc://spark", "sc://spark:15002", "spark:15002"),
        ("sc://spark:1/", "sc://spark:1", "spark:1"),
        ("sc://spark/;token=a%3Db", "sc://spark:15002/;token=a%3Db", "spark:15002"),
        ("sc://me:pass@spark", "sc://spark:15002/;token=pass;user_id=me", "spark:15002"),
        ("sc://[::1]:7", "sc://[::1]:7", "[::1]:7"),
    ],
)
def test_connect_addresses(url, normalised, address):
    target = target_from_url(url)
    assert (target.kind, target.url, target.address) == ("connect", normalised, address)


@pytest.mark.parametrize("url", ["spark://u:hush@host:7077", "k8s://https://u:hush@host:443", "yarn"])
def test_what_needs_spark_submit_is_refused_outside_airflow(url):
    with pytest.raises(SettingsError) as caught:
        target_from_url(url)
    shown = url.replace("u:hush@", "")
    assert str(caught.value) == (
        f"Spark at '{shown}' needs spark-submit, which only the tasks of Airflow do. Use sc://host:port for a Spark "
        f"Connect server, or 'embedded' for a Spark of our own; or submit spark_jobs/tick.py yourself."
    )


@pytest.mark.parametrize("url", ["sc://:80", "sc://u:hush@host/db", "sc://host:x/;token=hush", "sc://h?token=hush"])
def test_a_bad_address_is_named_without_its_secrets(url):
    with pytest.raises(SettingsError, match="Spark Connect address 'sc://") as caught:
        target_from_url(url)
    assert "hush" not in str(caught.value)


def test_secrets_are_not_printed():
    target = target_from_url("sc://host/;token=hush", [("spark.hadoop.fs.s3a.secret.key", "hush")])
    assert "hush" not in f"{target} {target!r} {target.address}"


TLS = "sc://h:9/;token=t;use_ssl=true;user_id=me"


@pytest.mark.parametrize(
    ("variables", "kind", "url"),
    [
        ({}, "embedded", ""),
        ({"TRICKLE_SPARK_URL": "sc://a", "AIRFLOW_CONN_MY_SPARK": "sc://b"}, "connect", "sc://a:15002"),
        ({"AIRFLOW_CONN_MY_SPARK": "sc://h:9/;token=t"}, "connect", "sc://h:9/;token=t"),
        ({"AIRFLOW_CONN_MY_SPARK": "sc://me:t@h:9/?use_ssl=True"}, "connect", TLS),
        ({"AIRFLOW_CONN_MY_SPARK": "spark-connect://me:t@h:9/?use_ssl=true"}, "connect", TLS),
        ({"AIRFLOW_CONN_MY_SPARK": "spark://sc%3A%2F%2Fh:9"}, "connect", "sc://h:9"),
        ({"AIRFLOW_CONN_MY_SPARK": "spark://sc://h:9"}, "connect", "sc://h:9"),
        ({"AIRFLOW_CONN_MY_SPARK": "spark://local"}, "embedded", ""),
        ({"AIRFLOW_CONN_MY_SPARK": "spark://"}, "embedded", ""),
        ({"AIRFLOW_CONN_MY_SPARK": json.dumps({"conn_type": "spark", "host": "local[*]"})}, "embedded", ""),
        (
            {
                "AIRFLOW_CONN_MY_SPARK": json.dumps(
                    {
                        "conn_type": "spark_connect",
                        "host": "sc://h",
                        "port": "9",
                        "login": "me",
                        "password": "t",
                        "extra": '{"use_ssl": true}',
                    }
                )
            },
            "connect",
            TLS,
        ),
    ],
)
def test_target_from_the_environment(variables, kind, url):
    target = target_from_environment("my_spark", variables)
    assert (target.kind, target.url) == (kind, url)


@pytest.mark.parametrize(
    "text", ['{"password": "hush"', '{"host": "h", "extra": "hush"}', '{"host":"h","port":"hush"}']
)
def test_a_connection_that_is_not_json_is_not_repeated(text):
    with pytest.raises(SettingsError) as caught:
        target_from_environment("s", {"AIRFLOW_CONN_S": text})
    assert str(caught.value) == "The environment variable AIRFLOW_CONN_S is not a connection in JSON."


@pytest.mark.parametrize(
    "text",
    [
        "spark://spark-master:7077",
        "spark://yarn",
        "k8s://https%3A%2F%2Fkube:443",
        json.dumps({"conn_type": "spark", "host": "spark://spark-master", "port": 7077}),
    ],
)
def test_a_connection_to_a_cluster_is_refused_outside_airflow(text):
    with pytest.raises(SettingsError, match="needs spark-submit, which only the tasks of Airflow do"):
        target_from_environment("s", {"AIRFLOW_CONN_S": text})


@pytest.mark.parametrize(
    ("fields", "master"),
    [
        ({"conn_type": "spark", "host": "spark-master", "port": 7077}, "spark://spark-master:7077"),
        ({"conn_type": "spark", "host": "spark://spark-master", "port": 7077}, "spark://spark-master:7077"),
        ({"conn_type": "spark", "host": "spark://one:7077,two:7077"}, "spark://one:7077,two:7077"),
        ({"conn_type": "spark", "host": "yarn"}, "yarn"),
        ({"conn_type": "spark", "host": "local[4]"}, "local[4]"),
        ({"conn_type": "spark", "host": "k8s://https://kube:443"}, "k8s://https://kube:443"),
        ({"conn_type": "k8s", "host": "https://kube", "port": 443}, "k8s://https://kube:443"),
    ],
)
def test_the_master_of_a_cluster(fields, master):
    target = target_from_connection(**fields)
    assert (target.kind, target.url, str(target)) == ("submit", master, f"spark-submit to {master}")


def test_what_a_connection_says_of_submitting():
    extra = {
        "deploy-mode": "cluster",
        "queue": "the provider's own",
        "py-files": "trickle.zip",
        "application": "local:///opt/refresh.py",
        "conf": {"spark.executor.memory": "4g"},
    }
    target = target_from_connection(conn_type="spark", host="yarn", extra=extra)
    assert dict(target.options) == {
        "deploy_mode": "cluster",
        "py_files": "trickle.zip",
        "application": "local:///opt/refresh.py",
    }
    assert target.conf == (("spark.executor.memory", "4g"),)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"conn_type": "spark", "host": "spark-master"},
            "Spark at 'spark-master' is no master that spark-submit knows",
        ),
        ({"conn_type": "spark", "host": "mesos://m:5050"}, "Spark at 'mesos://m:5050' is no master"),
        (
            {"conn_type": "trickle_spark", "host": "spark://m:7077"},
            "must be of type spark; this one is of type trickle_s",
        ),
        ({"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "far"}}, "allowed are client and cluster"),
        (
            {"conn_type": "spark", "host": "spark://m:7077", "extra": {"deploy-mode": "cluster"}},
            "A standalone cluster takes no Python applications in deploy mode cluster",
        ),
    ],
)
def test_a_connection_that_nothing_can_be_submitted_by(fields, message):
    with pytest.raises(SettingsError, match=message):
        target_from_connection(**fields)


def test_settings_of_a_connection():
    target = target_from_connection(host="h", extra={"conf": {"spark.sql.ansi.enabled": False, "a": 1}})
    assert target.conf == (("a", "1"), ("spark.sql.ansi.enabled", "False"))
    with pytest.raises(SettingsError, match="must be a mapping"):
        target_from_connection(host="h", extra={"conf": "x"})


@pytest.mark.parametrize(
    ("conn_id", "environ", "told"),
    [
        ("trickle_spark", {}, None),
        ("trickle_spark", {"AIRFLOW_CONN_TRICKLE_SPARK": "sc://a"}, None),
        ("trickle_spark", {"TRICKLE_SPARK_URL": "embedded"}, None),
        ("mine", {"TRICKLE_SPARK_URL": "sc://a", "AIRFLOW_CONN_MINE": "sc://a:15002"}, None),
        (
            "mine",
            {"TRICKLE_SPARK_URL": "sc://a", "AIRFLOW_CONN_MINE": "sc://b"},
            "this command uses Spark Connect at a:15002 (TRICKLE_SPARK_URL or --spark), and the tasks of Airflow use "
            "Spark Connect at b:15002 (AIRFLOW_CONN_MINE)",
        ),
        (
            "mine",
            {"TRICKLE_SPARK_URL": "embedded", "AIRFLOW_CONN_MINE": '{"extra": {"conf": {"a": "b"}}}'},
            "this command uses embedded Spark (TRICKLE_SPARK_URL or --spark), and the tasks of Airflow use embedded "
            "Spark (AIRFLOW_CONN_MINE) with other settings",
        ),
        (
            "mine",
            {},
            "this command uses embedded Spark, since AIRFLOW_CONN_MINE is not in its environment, and the tasks of "
            "Airflow use Airflow's connection 'mine'",
        ),
        (
            "mine",
            {"AIRFLOW_CONN_MINE": '{"conn_type": "spark", "host": "yarn"}'},
            "the tasks of Airflow use spark-submit to yarn (AIRFLOW_CONN_MINE), which this command cannot",
        ),
    ],
)
def test_a_command_that_uses_another_spark_than_airflow_says_so(conn_id, environ, told):
    assert other_than_airflow(conn_id, environ) == told
