"""Sessions, on the embedded server of the whole test run."""

from __future__ import annotations

import socket
import time
import uuid

import pytest

from airflow_trickle.errors import SparkUnavailable
from airflow_trickle.spark import channel, embedded
from airflow_trickle.spark.session import (
    SparkProvider,
    close,
    connect,
    interrupt_session,
    set_conf,
)
from airflow_trickle.spark.target import SparkTarget, target_from_url
from airflow_trickle.spark.tuning import SESSION_SETTINGS
from tests.spark.helpers import ENDLESS, eventually, in_thread, output, python

EMBEDDED = SparkTarget()
pytestmark = pytest.mark.usefixtures("spark_home")


def test_every_session_is_its_own_and_has_our_settings():
    from pyspark.sql.connect.session import SparkSession

    one = connect(SparkTarget(conf=(("spark.sql.ansi.enabled", "false"),)))
    other = connect(EMBEDDED)
    try:
        one.sql("SELECT 1 AS x").createOrReplaceTempView("mine")
        assert not other.catalog.tableExists("mine")
        assert {key: other.conf.get(key) for key in SESSION_SETTINGS} == dict(SESSION_SETTINGS)
        assert one.conf.get("spark.sql.ansi.enabled") == "false"
        set_conf(one, {"spark.sql.shuffle.partitions": "3", "spark.sql.adaptive.enabled": "false"})
        assert one.conf.get("spark.sql.shuffle.partitions") == "3"
        assert SparkSession.getActiveSession() is None
    finally:
        close(one)
        close(other)
    close(other)  # twice is harmless


def test_functions_of_pyspark_work():
    from pyspark.sql import functions as F

    with SparkProvider(EMBEDDED) as provider:
        assert provider.session.range(3).select(F.sum(F.col("id")).alias("s")).collect()[0]["s"] == 3


def test_a_setting_that_cannot_be_set_is_named():
    with pytest.raises(SparkUnavailable, match=r"127\.0\.0\.1:\d+ refused the session: .*spark.sql.warehouse.dir"):
        connect(SparkTarget(conf=(("spark.sql.warehouse.dir", "/x"),)))


def test_provider_connects_when_it_is_asked():
    provider = SparkProvider(EMBEDDED)
    name = provider.session_id
    assert not provider.used
    provider.interrupt()  # nothing to interrupt
    with provider:
        first = provider.session
        assert provider.session is first
        assert provider.used
        assert provider.session.session_id == name
    assert not provider.used
    with provider:  # a second life
        assert provider.session.range(1).count() == 1
        assert provider.session_id != name


def test_provider_of_a_given_session_leaves_it_open(spark):
    with SparkProvider.of(spark) as provider:
        assert provider.session is spark
        assert provider.session_id == spark.session_id
        assert provider.target is None
        assert interrupt_session(provider.target, provider.session_id) == 0
    assert spark.range(2).count() == 2


def test_interrupt_from_another_thread():
    with SparkProvider(EMBEDDED) as provider:
        seen = []
        provider.session.registerProgressHandler(lambda inflight_tasks, **_: inflight_tasks and seen.append(1))
        with in_thread(lambda: provider.session.sql(ENDLESS).collect()) as errors:
            eventually(lambda: seen)
            provider.interrupt()
        assert "OPERATION_CANCELED" in str(errors[0])
        assert provider.session.range(5).count() == 5, "the session can be used further"


def test_interrupt_of_a_given_session():
    session = connect(EMBEDDED)
    provider = SparkProvider.of(session)
    seen = []
    session.registerProgressHandler(lambda inflight_tasks, **_: inflight_tasks and seen.append(1))
    with in_thread(lambda: session.sql(ENDLESS).collect()) as errors:
        eventually(lambda: seen)
        provider.interrupt()
    assert "OPERATION_CANCELED" in str(errors[0])
    close(session)


def test_interrupt_session_of_a_killed_client():
    name = str(uuid.uuid4())
    client = python(
        f"""
from airflow_trickle.spark.session import connect
from airflow_trickle.spark.target import SparkTarget
session = connect(SparkTarget(), session_id={name!r})
session.registerProgressHandler(lambda inflight_tasks, **_: inflight_tasks and print("running", flush=True))
session.sql({ENDLESS!r}).collect()
"""
    )
    assert client.stdout is not None
    assert client.stdout.readline() == "running\n"
    client.kill()
    client.communicate()
    assert interrupt_session(EMBEDDED, name) == 1
    assert interrupt_session(EMBEDDED, name) == 0


def test_interrupt_session_is_harmless(tmp_path, monkeypatch, tuned):
    assert interrupt_session(EMBEDDED, str(uuid.uuid4())) == 0
    tuned(spark_reach_seconds=1.0)
    assert interrupt_session(target_from_url("sc://127.0.0.1:1"), str(uuid.uuid4())) == 0
    monkeypatch.setenv("TRICKLE_SPARK_HOME", str(tmp_path / "none"))
    assert interrupt_session(EMBEDDED, str(uuid.uuid4())) == 0
    assert not (tmp_path / "none").exists(), "no server is started for this"


def test_a_process_that_forgets_its_session_ends():
    # pyspark alone hangs for ever at the end of such a process.
    code = """
from airflow_trickle.spark.session import connect
from airflow_trickle.spark.target import SparkTarget
session = connect(SparkTarget())
print(session.range(3).count())
"""
    assert output(python(code), 120) == "3\n"


def test_a_session_whose_server_is_gone_can_be_closed(monkeypatch):
    session = connect(EMBEDDED)
    monkeypatch.setattr(channel.Calls, "release", lambda *_: 1 / 0)
    close(session)
    assert session.is_stopped


def test_refused_without_the_token():
    info = embedded.ensure_running()
    with pytest.raises(SparkUnavailable) as caught:
        connect(target_from_url(f"sc://127.0.0.1:{info.port}"))
    assert str(caught.value) == (
        f"Spark Connect at 127.0.0.1:{info.port} refused us: No authentication token provided. "
        f"Check the token (password) of the Spark connection."
    )
    assert info.token not in repr(info) + str(info.as_dict()) + str(embedded.status().as_dict())


def test_nobody_listens():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(SparkUnavailable) as caught:
        connect(target_from_url(f"sc://127.0.0.1:{port}/;token=hush"))
    assert time.monotonic() - began < 10
    assert str(caught.value) == (
        f"Spark Connect at 127.0.0.1:{port} cannot be reached: nothing listens there. Check the host and "
        f"port of the Spark connection, and that the server runs and speaks TLS."
    )


def test_unknown_host():
    with pytest.raises(SparkUnavailable, match=r"no-such-host\.invalid:15002 cannot be reached: its name is not known"):
        connect(target_from_url("sc://no-such-host.invalid"))


def test_something_else_listens(tuned):
    tuned(spark_ready_seconds=1.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        with pytest.raises(SparkUnavailable) as caught:
            connect(target_from_url(f"sc://127.0.0.1:{port}"))
    assert str(caught.value) == (
        f"Spark Connect at 127.0.0.1:{port} cannot be reached: it takes connections, but did not speak gRPC "
        f"within 1 s. Check the host and port of the Spark connection, and that the server runs and speaks "
        f"plain gRPC."
    )
