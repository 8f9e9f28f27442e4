"""Who owns the server and when it ends; a small Python process stands in for the JVM."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest

from airflow_trickle.spark import channel, embedded, supervisor
from airflow_trickle.spark.launch import server_properties, settings_hash
from airflow_trickle.spark.state import ServerFiles, is_process, process_started
from tests.spark.helpers import eventually

pytestmark = pytest.mark.server

#: Tells its port as Spark does, and greets whoever connects.
STAND_IN = """
import socket, sys, threading
listening = socket.create_server(("127.0.0.1", 0))
print("INFO: Spark Connect server started at: 127.0.0.1:%d" % listening.getsockname()[1], file=sys.stderr, flush=True)
def greet(client):
    with client:
        client.sendall(b"!")
        client.recv(1)
while True:
    threading.Thread(target=greet, args=listening.accept()[:1], daemon=True).start()
"""


def greeted(state, seconds, tries=1):
    with socket.create_connection(("127.0.0.1", state.port), timeout=seconds) as client:
        try:
            return client.recv(1) == b"!"
        except TimeoutError:
            return False


@pytest.fixture
def files(tmp_path, monkeypatch) -> ServerFiles:
    monkeypatch.setenv("TRICKLE_SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(embedded, "prepare_launch", stand_in)
    monkeypatch.setattr(channel, "answers", greeted)
    found = embedded.server_files()
    found.prepare()
    yield found
    embedded.stop()


def stand_in(files: ServerFiles) -> supervisor.Launch:
    command = [sys.executable, "-c", STAND_IN]
    settings = settings_hash(server_properties(files))
    idle = float(os.environ.get("TRICKLE_SPARK_IDLE_MINUTES", "10")) * 60
    return supervisor.Launch(command, dict(os.environ), "0", settings, idle)


def test_kill_9_of_the_supervisor_and_a_state_file_with_a_reused_pid(files):
    left = embedded.ensure_running()
    state = files.read()
    assert state is not None
    os.kill(left.supervisor_pid, signal.SIGKILL)
    eventually(lambda: process_started(left.pid) is None)  # the JVM dies with it
    assert embedded.status().state == "stopped"
    innocent = subprocess.Popen(["sleep", "600"])
    try:
        # The pid of the JVM now belongs to somebody else.
        stale = replace(state, pid=innocent.pid, supervisor_pid=innocent.pid)
        files.write(stale)
        assert not is_process(innocent.pid, stale.pid_started)
        info = embedded.ensure_running()
        assert info.started
        assert info.port != left.port
        assert innocent.poll() is None, "the other process was not touched"
    finally:
        innocent.kill()
        innocent.wait()


def test_it_ends_when_nobody_uses_it(files, monkeypatch):
    monkeypatch.setenv("TRICKLE_SPARK_IDLE_MINUTES", "0.05")
    info = embedded.ensure_running()
    with socket.create_connection(("127.0.0.1", info.port)):
        time.sleep(5)  # an open connection is use, however quiet it is
        assert embedded.status().state == "running"
    eventually(lambda: process_started(info.pid) is None, 20)
    eventually(lambda: process_started(info.supervisor_pid) is None)
    assert files.read() is None
    assert "Nobody has used the server for 0.05 minutes: it ends." in files.log.read_text()


def test_asking_for_it_is_use(files, monkeypatch):
    monkeypatch.setenv("TRICKLE_SPARK_IDLE_MINUTES", "0.05")
    first = embedded.ensure_running()
    for _ in range(5):
        time.sleep(1)
        assert embedded.ensure_running().pid == first.pid


def test_a_hung_server_is_replaced_and_can_be_stopped(files, monkeypatch, tuned):
    info = embedded.ensure_running()
    tuned(spark_answer_seconds=1.0)
    os.kill(info.pid, signal.SIGSTOP)
    assert embedded.status().state == "unresponsive"
    with monkeypatch.context() as patch:
        done: list[str] = []
        patch.setattr(embedded, "_end", lambda _files: done.append("end"))
        patch.setattr(embedded, "_start", lambda _files: done.append("start"))
        embedded.ensure_running()
        assert done == ["end", "start"]
    assert embedded.stop().detail == f"The embedded Spark server (pid {info.pid}) was stopped."
    assert process_started(info.pid) is None
    assert process_started(info.supervisor_pid) is None
    assert not files.state.exists()
    assert not (files.folder / "local").exists(), "scratch files are gone"
    assert embedded.stop().detail == "The embedded Spark server did not run."
    assert embedded.status().as_dict()["state"] == "stopped"


def test_a_second_supervisor_leaves_at_once(files):
    held = supervisor.hold(files.alive)
    assert held is not None
    try:
        done = subprocess.run(
            [sys.executable, "-m", supervisor.__name__, str(files.home)],
            input=json.dumps(asdict(supervisor.Launch(["true"], {}, "", "", 0))),
            text=True,
            check=False,
        )
        assert done.returncode == supervisor.TAKEN
    finally:
        os.close(held)


def test_a_starter_that_was_killed_is_waited_for(files, monkeypatch):
    """Its supervisor goes on; the next process takes the server over when it is ready."""
    monkeypatch.setattr(embedded, "_await_start", lambda _files: sys.exit("killed"))
    with pytest.raises(SystemExit):
        embedded.ensure_running()
    monkeypatch.undo()
    monkeypatch.setenv("TRICKLE_SPARK_HOME", str(files.home))
    monkeypatch.setattr(channel, "answers", greeted)
    eventually(lambda: files.read() is not None)
    assert not embedded.ensure_running().started
