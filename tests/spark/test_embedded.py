"""The life of an embedded server in a home of its own; each test goes on with the server of the last."""

from __future__ import annotations

import json
import os
import signal
import stat
import time

import psutil
import pytest

from airflow_trickle.errors import SettingsError, SparkUnavailable
from airflow_trickle.spark import embedded, java
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.state import ServerFiles, process_started
from airflow_trickle.spark.target import SparkTarget
from tests.spark.helpers import eventually, output, python

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("embedded")]

START_AND_DIE = """
import json, os, signal
from airflow_trickle.spark.embedded import ensure_running
info = ensure_running()
print(json.dumps(info.as_dict()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("a home") / "spark"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRICKLE_SPARK_HOME", str(home))
        # A server of somebody else's process must not care for what stands here.
        patch.setenv("SPARK_HOME", "/nowhere")
        patch.setenv("SPARK_LOCAL_IP", "0.0.0.0")
        yield home
        embedded.stop()


@pytest.fixture
def files(home) -> ServerFiles:
    found = embedded.server_files()
    found.prepare()
    return found


def test_two_processes_at_once_start_one_server_that_survives_both(home):
    starters = [python(START_AND_DIE), python(START_AND_DIE)]
    first, second = (json.loads(output(each)) for each in starters)
    assert [each.returncode for each in starters] == [-signal.SIGKILL, -signal.SIGKILL]
    assert first["pid"] == second["pid"]
    assert sorted([first["started"], second["started"]]) == [False, True]
    info = embedded.ensure_running()
    assert (info.pid, info.started) == (first["pid"], False)
    with SparkProvider(SparkTarget()) as provider:
        assert provider.session.version == info.version
    status = embedded.status()
    assert status.state == "running"
    assert status.info is not None
    assert status.info.pid == info.pid


def test_it_keeps_to_itself(files, monkeypatch):
    embedded.stop()
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", "postgresql://me:secret@db/catalog")
    monkeypatch.setenv("MY_STORE_KEY", "wanted there")
    monkeypatch.setenv("TRICKLE_SPARK_ENVIRONMENT", "MY_STORE_KEY, OTHER")
    info = embedded.ensure_running()
    server = psutil.Process(info.pid)
    listening = [each for each in server.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
    assert info.port in {each.laddr.port for each in listening}
    assert {each.laddr.ip.removeprefix("::ffff:") for each in listening} == {"127.0.0.1"}
    assert stat.S_IMODE(files.state.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700
    assert info.token not in " ".join(server.cmdline())
    assert info.token not in files.log.read_text()
    environment = server.environ()
    assert not [name for name in environment if name.startswith(("AIRFLOW", "PYICEBERG", "TRICKLE"))]
    assert "secret" not in " ".join(environment.values())
    assert environment["MY_STORE_KEY"] == "wanted there"
    owner = psutil.Process(info.supervisor_pid)
    assert os.getsid(owner.pid) not in (os.getsid(0), os.getpid()), "a session of its own"
    assert owner.memory_info().rss < 60 * 1024**2


def test_changed_settings_restart_it_unless_it_is_in_use(files, monkeypatch, caplog):
    info = embedded.ensure_running()
    done: list[str] = []
    monkeypatch.setattr(embedded, "_end", lambda _files: done.append("end"))
    monkeypatch.setattr(embedded, "_start", lambda _files: done.append("start"))
    with SparkProvider(SparkTarget()) as provider:
        assert provider.session.version == info.version
        files.user_settings.write_text("# mine\nspark.sql.codegen.comments true\n")
        assert embedded.ensure_running().pid == info.pid
        assert "runs with older settings; it is in use" in caplog.text
    eventually(lambda: embedded.ensure_running() is None)
    assert done == ["end", "start"]
    files.user_settings.unlink()


def test_kill_9_of_the_jvm(files):
    with SparkProvider(SparkTarget()) as provider:
        session = provider.session
        killed = embedded.ensure_running()
        os.kill(killed.pid, signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(Exception, match=r"UNAVAILABLE|refused|reset"):
            session.range(3).count()
        assert time.monotonic() - began < 20, "pyspark alone would try for more than ten minutes"
    eventually(lambda: not files.supervised())
    assert embedded.status().state == "stopped"
    with SparkProvider(SparkTarget()) as provider:
        assert provider.session.version == killed.version
    assert embedded.ensure_running().pid != killed.pid


def test_stop(files):
    info = embedded.ensure_running()
    assert embedded.stop().detail == f"The embedded Spark server (pid {info.pid}) was stopped."
    assert process_started(info.pid) is None
    assert process_started(info.supervisor_pid) is None
    assert not files.state.exists()
    assert not (files.folder / "local").exists(), "scratch files are gone"
    assert embedded.stop().detail == "The embedded Spark server did not run."
    assert embedded.status().as_dict()["state"] == "stopped"


def test_a_server_that_cannot_start_shows_its_log(files):
    files.user_settings.write_text("spark.driver.extraJavaOptions=-javaagent:no-such.jar\nspark.x=\n")
    files.state.write_text("not json")
    with pytest.raises(SparkUnavailable) as caught:
        embedded.ensure_running()
    assert str(caught.value).startswith(
        f"The embedded Spark server did not start: it ended at once. The last lines of its log {files.log}:\n"
    )
    assert "no-such.jar" in str(caught.value)
    files.user_settings.unlink()
    assert not files.supervised()
    assert not files.state.exists()


def test_java_is_missing(files, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(java, "_install_command", lambda: "apt-get install -y openjdk-17-jre-headless")
    with pytest.raises(SparkUnavailable) as caught:
        SparkProvider(SparkTarget()).session  # noqa: B018
    assert str(caught.value) == (
        "Java was not found (JAVA_HOME is not set, no 'java' on the PATH); the embedded Spark needs Java 17 "
        "or newer. Install it with: apt-get install -y openjdk-17-jre-headless"
    )


def test_pyspark_without_jars(files, monkeypatch):
    monkeypatch.setattr("airflow_trickle.spark.launch.importlib.util.find_spec", lambda _name: None)
    with pytest.raises(SparkUnavailable, match=r"needs the package 'pyspark' with its jars. Install it with: pip"):
        embedded.ensure_running()


def test_a_home_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRICKLE_SPARK_HOME", str(tmp_path / "file"))
    with pytest.raises(SparkUnavailable, match=r"cannot be used: .*/file.* Set TRICKLE_HOME to a folder of yours"):
        embedded.ensure_running()


def test_idle_minutes_that_are_no_number(files, monkeypatch):
    monkeypatch.setenv("TRICKLE_SPARK_IDLE_MINUTES", "soon")
    with pytest.raises(SettingsError, match="TRICKLE_SPARK_IDLE_MINUTES is 'soon', but must be a number of minutes"):
        embedded.ensure_running()
