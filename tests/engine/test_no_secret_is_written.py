"""Secrets of the catalog, of connections and of sources stand in no file, state table, log or process of ours."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from sqlalchemy import MetaData, create_engine, make_url

from airflow_trickle import Mode
from airflow_trickle.errors import TickFailed
from airflow_trickle.spark.launch import prepare_launch
from airflow_trickle.spark.state import ServerFiles
from tests import databases
from tests.engine.world import World

pytestmark = pytest.mark.server

#: By where each is planted: a secret that stands nowhere else.
SECRETS = {
    "password of the catalog": "planted-catalog-7f3a",
    "key of a file system": "planted-s3a-19cc",
    "token of another catalog": "planted-token-42bd",
    "variable of a source": "planted-variable-8e01",
    "password of a source": "planted-source-c5d6",
}
ROWS = pa.schema([("id", pa.int64()), ("v", pa.string())])
PIPELINE = """
pipeline: p
sources:
  rows: {}
  files:
    format: csv
    path: %s
    schema: id BIGINT, v STRING
    options: {header: "true", apiToken: "${PLANTED_TOKEN}"}
  orders:
    format: jdbc
    options:
      url: jdbc:postgresql://127.0.0.1:1/shop?password=${conn.planted_shop.password}
      dbtable: orders
      user: me
      password: ${conn.planted_shop.password}
stream_tables:
  copied: {query: "SELECT id, v FROM rows", refresh_mode: DIFFERENTIAL}
  captured: {query: "SELECT id, v FROM files"}
  broken: {query: "SELECT id, CAST(v AS INT) AS n FROM rows"}
  waiting: {query: "SELECT * FROM orders"}
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_home: Path) -> World:
    """A pipeline with a secret wherever one may be given."""
    url = make_url(databases.new_database()).set(password=SECRETS["password of the catalog"])
    world = World(tmp_path, url.render_as_string(hide_password=False))
    conf = {
        "spark.hadoop.fs.s3a.secret.key": SECRETS["key of a file system"],
        "spark.sql.catalog.other.token": SECRETS["token of another catalog"],
    }
    connection = {"conn_type": "trickle_spark", "extra": {"conf": conf}}
    shop = {"conn_type": "postgres", "host": "127.0.0.1", "password": SECRETS["password of a source"]}
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", world.uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", world.warehouse)
    monkeypatch.setenv("AIRFLOW_CONN_TRICKLE_SPARK", json.dumps(connection))
    monkeypatch.setenv("AIRFLOW_CONN_PLANTED_SHOP", json.dumps(shop))
    monkeypatch.setenv("PLANTED_TOKEN", SECRETS["variable of a source"])
    world.source("rows", ROWS, [{"id": 1, "v": "one"}, {"id": 2, "v": "two"}])
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.csv").write_text("id,v\n1,one\n")
    world.yaml.write_text(PIPELINE % (tmp_path / "files"))
    return world


def found_in(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Which secrets stand where."""
    return [(what, place) for what, secret in SECRETS.items() for place, text in texts.items() if secret in text]


def files_below(*folders: Path) -> dict[str, str]:
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path): path.read_bytes().decode("latin-1") for path in files}


def state_of(uri: str) -> dict[str, str]:
    """The rows of every table of a database, as text."""
    engine, known = create_engine(uri), MetaData()
    known.reflect(engine)
    with engine.connect() as connection:
        rows = {
            name: str([tuple(row) for row in connection.execute(table.select())])
            for name, table in known.tables.items()
        }
    engine.dispose()
    return rows


def processes(spark_home: Path) -> Iterator[tuple[str, str]]:
    """The environments and commands of the Spark server and its supervisor."""
    state = ServerFiles(spark_home).read()
    assert state is not None
    for pid in (state.pid, state.supervisor_pid):
        yield f"command of {pid}", " ".join(psutil.Process(pid).cmdline())
    yield "environment of Spark", str(psutil.Process(state.pid).environ())


def test_no_secret_is_written_down(
    planted: World,
    tmp_path: Path,
    spark_home: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, logger="airflow_trickle")
    told = []
    for number in (3, 4):
        with pytest.raises(TickFailed) as raised:
            planted.tick()
        told.append(f"{raised.value}\n{raised.value.results!r}")
        planted.append("rows", {"id": number, "v": "more"})
    results = raised.value.results
    # It is a test of secrets only if all of this ran, and failed, with them.
    assert (results["copied"].mode, results["copied"].rows_inserted) == (Mode.DIFFERENTIAL, 1)
    assert planted.rows("captured") == {(1, "one"): 1}
    assert results["broken"].error
    assert results["orders"].error

    printed = capfd.readouterr()
    state = state_of(planted.uri)
    assert "p" in "".join(state.values())
    assert len(state) > 5
    assert found_in(files_below(tmp_path, spark_home)) == []
    assert found_in(state) == []
    assert found_in({"log": caplog.text, "printed": printed.out + printed.err, "errors": "\n".join(told)}) == []
    assert found_in(dict(processes(spark_home))) == []


def test_a_spark_server_that_starts_gets_none_of_them(planted: World, tmp_path: Path) -> None:
    files = ServerFiles(tmp_path / "spark")
    files.prepare()
    launch = prepare_launch(files)
    assert found_in({"environment": str(launch.environment), "command": str(launch.command)}) == []
    assert found_in(files_below(tmp_path)) == []
