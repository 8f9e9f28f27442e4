"""Opening the lakehouse: where its settings come from, and what is said when it cannot be opened."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import IcebergTables
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from sqlalchemy import create_engine, insert, make_url, text, update

from airflow_trickle.errors import CatalogUnavailable, TrickleError, WarehouseUnavailable
from airflow_trickle.lakehouse.catalog import Lakehouse, catalog_properties, open_lakehouse
from airflow_trickle.lakehouse.commit import commit
from airflow_trickle.lakehouse.files import spark_path
from tests.databases import new_database, server_uri
from tests.lakehouse.writing import rows_of, stage_rows

ROW = {"epoch": 1, "name": "x"}


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever this machine's user has configured."""
    for name in os.environ:
        if name.startswith("PYICEBERG_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("TRICKLE_HOME", str(tmp_path / "trickle home"))


@contextmanager
def refused(message: str, kind: type[TrickleError] = CatalogUnavailable) -> Iterator[None]:
    with pytest.raises(kind) as caught:
        yield
    assert str(caught.value) == message


def use(lake: Lakehouse) -> None:
    """Publish a table and read it again."""
    commit(lake, [stage_rows(lake, "default.t", [ROW])])
    commit(lake, [stage_rows(lake, "default.t", [ROW])])
    assert rows_of(lake, "default.t") == [ROW, ROW]


def home_of(lake: Lakehouse, identifier: str) -> str:
    """Where a table lives, without the part of the folder's name that no other table has."""
    return lake.table(identifier).location().rsplit("-", 1)[0]  # type: ignore[union-attr]


def test_settings_of_the_environment_count_even_when_set_after_the_import(
    catalog_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", catalog_uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", f"file://{tmp_path}/from-env")
    with open_lakehouse() as lake:
        use(lake)
        assert home_of(lake, "default.t") == f"file://{tmp_path}/from-env/default/t"
        # The same settings serve every other Iceberg client.
        settings = catalog_properties("trickle")
    assert load_catalog("trickle", **settings).load_table("default.t").scan().to_arrow().num_rows == 2
    assert not (tmp_path / "trickle home").exists()


def test_settings_of_the_yaml_file_count_and_the_environment_overrides_them(
    catalog_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "settings"
    home.mkdir()
    (home / ".pyiceberg.yaml").write_text(
        f"catalog:\n  lake:\n    uri: {catalog_uri}\n    warehouse: file://{tmp_path}/from-yaml\n"
        f"    type: sql\n    echo: false\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYICEBERG_HOME", str(home))
    with open_lakehouse("lake") as lake:
        use(lake)
        assert lake.name == "lake"
        assert home_of(lake, "default.t") == f"file://{tmp_path}/from-yaml/default/t"
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{tmp_path}/from-env")
    with open_lakehouse("lake") as lake:
        commit(lake, [stage_rows(lake, "default.u", [ROW])])
        assert home_of(lake, "default.u") == f"file://{tmp_path}/from-env/default/u"
    # Another name is another catalog.
    assert catalog_properties("trickle")["warehouse"] == f"file://{tmp_path}/trickle home/warehouse"


@pytest.mark.parametrize("name", ["plain", "with space", "100%", "a%20b", "grö ße", "it's"])
def test_with_no_settings_everything_is_below_trickle_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    home = tmp_path / "not yet there" / name
    monkeypatch.setenv("TRICKLE_HOME", str(home))
    with open_lakehouse() as lake:
        use(lake)
    assert (home / "catalog.db").is_file()
    assert list((home / "warehouse" / "default").glob("t-*/metadata/*.metadata.json"))
    assert sorted(path.name for path in home.parent.iterdir()) == [name]
    # A second opening sees what the first one wrote.
    with open_lakehouse() as lake:
        assert rows_of(lake, "default.t") == [ROW, ROW]


def test_a_relative_trickle_home_gives_tables_that_are_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRICKLE_HOME", "here")
    monkeypatch.chdir(tmp_path)
    with open_lakehouse() as lake:
        use(lake)
        monkeypatch.chdir("/")
        assert home_of(lake, "default.t") == f"file://{tmp_path}/here/warehouse/default/t"
        assert rows_of(lake, "default.t") == [ROW, ROW]


@pytest.mark.parametrize("name", ["a#b", "what?"])
def test_a_trickle_home_that_no_address_can_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TRICKLE_HOME", str(tmp_path / name))
    with refused(
        f"The folder {tmp_path}/{name} for the embedded catalog has a # or ? in its path, which Iceberg clients do "
        f"not take. Set TRICKLE_HOME to another folder."
    ):
        open_lakehouse()
    assert list(tmp_path.iterdir()) == []


def test_a_trickle_home_that_cannot_be_made_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRICKLE_HOME", str(tmp_path / "file" / "home"))
    with refused(
        f"The folder {tmp_path}/file/home for the embedded catalog cannot be made: Not a directory. "
        f"Set TRICKLE_HOME to a folder you can write to."
    ):
        open_lakehouse()


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_postgresql_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    port = closed_port()
    rest = (
        f'did not answer: connection to server at "127.0.0.1", port {port} failed: Connection refused. Check that '
        f"the database is running and that the address, user and rights are right, then try again."
    )
    with refused(f"Iceberg catalog 'trickle' at postgresql+psycopg2://me:***@127.0.0.1:{port}/db {rest}"):
        open_lakehouse(uri=f"postgresql+psycopg2://me:secret@127.0.0.1:{port}/db", warehouse=f"file://{tmp_path}")
    # A password may also stand among the parameters.
    with refused(f"Iceberg catalog 'trickle' at postgresql+psycopg2://127.0.0.1:{port}/db?user=me {rest}"):
        open_lakehouse(
            uri=f"postgresql+psycopg2://127.0.0.1:{port}/db?user=me&password=secret", warehouse=f"file://{tmp_path}"
        )


def test_a_wrong_password_is_said_but_not_shown(tmp_path: Path) -> None:
    admin = create_engine(make_url(server_uri()).set(drivername="postgresql+psycopg2"), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text("CREATE ROLE careful LOGIN PASSWORD 'right'"))
        rules = Path(str(connection.execute(text("SHOW hba_file")).scalar()))
        rules.write_text("local all careful scram-sha-256\n" + rules.read_text())
        connection.execute(text("SELECT pg_reload_conf()"))
        connection.execute(text("SELECT pg_sleep(0.2)"))
    admin.dispose()
    url = make_url(new_database()).set(username="careful", password="wrong-secret")
    with pytest.raises(CatalogUnavailable) as caught:
        open_lakehouse(uri=url.render_as_string(hide_password=False), warehouse=f"file://{tmp_path}")
    message = str(caught.value)
    assert "wrong-secret" not in message
    assert message.startswith("Iceberg catalog 'trickle' at postgresql+psycopg2://careful:***@/")
    assert message.endswith(
        'FATAL:  password authentication failed for user "careful". Check that the database is running and that '
        "the address, user and rights are right, then try again."
    )


def test_a_missing_database_is_named(tmp_path: Path) -> None:
    url = make_url(new_database()).set(database="nope")
    with pytest.raises(CatalogUnavailable, match=r'FATAL:  database "nope" does not exist\. Check that the database'):
        open_lakehouse(uri=url.render_as_string(hide_password=False), warehouse=f"file://{tmp_path}")


def test_an_sqlite_file_whose_folder_is_missing_is_named(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/none/catalog.db"
    with refused(
        f"Iceberg catalog 'trickle' at {uri} did not answer: unable to open database file. Check that its folder "
        f"exists and that this user may write to it, then try again."
    ):
        open_lakehouse(uri=uri, warehouse=f"file://{tmp_path}/warehouse")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("dear diary " * 1000)
    uri = f"sqlite:///{tmp_path}/notes.txt"
    with refused(
        f"Iceberg catalog 'trickle' at {uri} did not answer: file is not a database. Check that the database is "
        f"running and that the address, user and rights are right, then try again."
    ):
        open_lakehouse(uri=uri, warehouse=f"file://{tmp_path}/warehouse")
    assert (tmp_path / "notes.txt").read_text().startswith("dear diary")


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"uri": "http://localhost:8181"}, "rest"),
        ({"uri": "https://catalog.example.com", "type": "REST"}, "rest"),
        ({"uri": "thrift://localhost:9083"}, "hive"),
        ({"uri": "x", "type": "glue"}, "glue"),
    ],
)
def test_a_catalog_that_is_not_an_sql_catalog_is_refused(settings: dict[str, str], kind: str) -> None:
    with refused(
        f"Iceberg catalog 'trickle' is not an SQL catalog (type {kind}). airflow-trickle publishes several tables "
        f"in one database transaction and so needs type sql, on SQLite or PostgreSQL. Set "
        f"PYICEBERG_CATALOG__TRICKLE__TYPE=sql and PYICEBERG_CATALOG__TRICKLE__URI."
    ):
        open_lakehouse(warehouse="file:///w", **settings)


def test_a_catalog_without_a_warehouse_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", f"sqlite:///{tmp_path}/catalog.db")
    with refused(
        "Iceberg catalog 'trickle' has no warehouse. Set PYICEBERG_CATALOG__TRICKLE__WAREHOUSE to the folder or "
        "bucket that holds the tables, for example file:///data/warehouse."
    ):
        open_lakehouse()


def test_a_catalog_without_a_uri_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", "file:///w")
    with refused(
        "Iceberg catalog 'trickle' has no uri. Set PYICEBERG_CATALOG__TRICKLE__URI (for example "
        "sqlite:////data/catalog.db) or `uri` in .pyiceberg.yaml."
    ):
        open_lakehouse()


@pytest.mark.parametrize(
    "uri",
    [
        "catalog.db",
        "what is this",
        "postgresql://me:secret@host:port/db",
        # One slash too few, which is easily written.
        "sqlite://data/secret.db",
    ],
)
def test_an_address_that_cannot_be_read_is_refused_and_not_repeated(uri: str) -> None:
    with refused(
        "Iceberg catalog 'trickle': its uri is not a database address. Allowed are addresses such as "
        "sqlite:////data/catalog.db or postgresql+psycopg2://user@host:5432/database. Correct "
        "PYICEBERG_CATALOG__TRICKLE__URI or .pyiceberg.yaml."
    ):
        open_lakehouse(uri=uri, warehouse="file:///w")


def test_a_database_without_its_driver_is_refused() -> None:
    with refused(
        "Iceberg catalog 'trickle' at postgresql+asyncpg://me:***@host/db: its database driver is not installed "
        "(No module named 'asyncpg'). For PostgreSQL: pip install 'airflow-trickle[postgres]'."
    ):
        open_lakehouse(uri="postgresql+asyncpg://me:secret@host/db", warehouse="file:///w")


@pytest.mark.parametrize("uri", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(uri: str) -> None:
    with refused(
        "Iceberg catalog 'trickle' is an SQLite database in memory, which no other process sees. Give it a file, "
        "for example sqlite:////data/catalog.db."
    ):
        open_lakehouse(uri=uri, warehouse="file:///w")


def metadata_file(lake: Lakehouse, identifier: str) -> tuple[str, Path]:
    location = lake.locations([identifier])[identifier]
    return location, Path(spark_path(location))


def reopened(lake: Lakehouse) -> Lakehouse:
    """The same catalog with nothing remembered."""
    return Lakehouse(lake.catalog, lake.database)


def test_a_metadata_file_that_is_gone_is_named(shared_lake: Lakehouse, identifier: str) -> None:
    commit(shared_lake, [stage_rows(shared_lake, identifier, [ROW])])
    location, path = metadata_file(shared_lake, identifier)
    path.unlink()
    with refused(
        f"The table metadata {location} cannot be read: there is no such file. Check that the warehouse is "
        f"mounted or reachable and that the file was not removed.",
        WarehouseUnavailable,
    ):
        reopened(shared_lake).table(identifier)


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"\xff\xfe\x00", b"[1, 2]"])
def test_a_metadata_file_that_makes_no_sense_is_named(shared_lake: Lakehouse, identifier: str, content: bytes) -> None:
    commit(shared_lake, [stage_rows(shared_lake, identifier, [ROW])])
    location, path = metadata_file(shared_lake, identifier)
    path.write_bytes(content)
    with refused(
        f"The table metadata {location} cannot be read: it is not the metadata of an Iceberg table. Check that the "
        f"warehouse is mounted or reachable and that the file was not removed.",
        WarehouseUnavailable,
    ):
        reopened(shared_lake).table(identifier)


def test_a_table_is_found_by_its_whole_name_only(shared_lake: Lakehouse, identifier: str) -> None:
    commit(shared_lake, [stage_rows(shared_lake, identifier, [ROW])])
    # Somebody else's table may be in a namespace of a namespace.
    deep = f"sales.eu.{identifier.split('.')[1]}"
    shared_lake.ensure_namespace(deep)
    shared_lake.catalog.create_table(deep, Schema(NestedField(1, "id", LongType(), required=False)))
    assert shared_lake.table(deep).name() == ("sales", "eu", identifier.split(".")[1])  # type: ignore[union-attr]
    for missing in (identifier.upper(), identifier.split(".")[1], f"sales.{identifier.split('.')[1]}", "", "."):
        assert shared_lake.table(missing) is None
    assert list(shared_lake.tables([identifier, deep, identifier, "default.none"])) == [identifier, deep]
    assert shared_lake.tables([]) == {}


def many(lake: Lakehouse, count: int) -> tuple[list[str], str]:
    """So many catalog entries, all with the metadata of one real table."""
    identifier = "default.one"
    commit(lake, [stage_rows(lake, identifier, [ROW])])
    location = lake.locations([identifier])[identifier]
    names = [f"{'ab'[number % 2]}.t{number:04}" for number in range(count)]
    entries = [
        lake.catalog._create_table_row(*name.split("."), metadata_location=location)  # type: ignore[misc]
        for name in names
    ]
    with lake.database.transaction() as connection:
        connection.execute(insert(IcebergTables), entries)
    return names, location


def test_twelve_hundred_tables_are_read_at_one_moment(lake: Lakehouse) -> None:
    names, first = many(lake, 1200)
    found = lake.tables([*names, "a.none"])
    assert sorted(found) == sorted(names)
    assert {table.metadata_location for table in found.values()} == {first}
    # While somebody moves all of them, back and forth, no reader sees some here and some there.
    commit(lake, [stage_rows(lake, "default.one", [ROW])])
    second = lake.locations(["default.one"])["default.one"]
    stop, moves = threading.Event(), []

    def move() -> None:
        while not stop.is_set():
            with lake.database.transaction() as connection:
                connection.execute(
                    update(IcebergTables)
                    .where(IcebergTables.table_namespace.in_(["a", "b"]))
                    .values(metadata_location=second if len(moves) % 2 == 0 else first)
                )
            moves.append(1)

    with ThreadPoolExecutor(1) as threads:
        mover = threads.submit(move)
        seen = []
        while len(seen) < 300 and not mover.done() and len(moves) < 60:
            seen.append(frozenset(lake.locations(names).values()))
        stop.set()
        mover.result()
    assert all(len(each) == 1 for each in seen)
    assert len(seen) > 3


def test_a_view_is_not_taken_for_a_table(shared_lake: Lakehouse, identifier: str) -> None:
    commit(shared_lake, [stage_rows(shared_lake, identifier, [ROW])])
    with shared_lake.database.transaction() as connection:
        connection.execute(
            update(IcebergTables)
            .where(IcebergTables.table_name == identifier.split(".")[1])
            .values(iceberg_type="VIEW")
        )
    assert shared_lake.table(identifier) is None


def test_a_catalog_made_by_an_older_client_is_used_as_it_is(catalog_uri: str, tmp_path: Path) -> None:
    """Before pyiceberg 0.11, and with Iceberg for Java's first layout, there is no column for the kind."""
    engine = create_engine(catalog_uri)
    with engine.begin() as connection:
        connection.execute(
            text(
                "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) "
                "NOT NULL, table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), "
                "previous_metadata_location VARCHAR(1000), "
                "PRIMARY KEY (catalog_name, table_namespace, table_name))"
            )
        )
        connection.execute(
            text(
                "CREATE TABLE iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, namespace "
                "VARCHAR(255) NOT NULL, property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000), "
                "PRIMARY KEY (catalog_name, namespace, property_key))"
            )
        )
    engine.dispose()
    with open_lakehouse(uri=catalog_uri, warehouse=f"file://{tmp_path}/warehouse") as lake:
        use(lake)
        lake.catalog.create_table("default.plain", Schema(NestedField(1, "id", LongType(), required=False)))
        assert sorted(lake.tables(["default.t", "default.plain"])) == ["default.plain", "default.t"]


def test_a_namespace_made_by_eight_threads_at_once_is_made_once(lake: Lakehouse) -> None:
    start = threading.Barrier(8)

    def make(_: int) -> None:
        start.wait()
        lake.ensure_namespace("fresh.t")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make, range(8)))
    assert lake.catalog.list_namespaces() == [("fresh",)]


def test_a_database_that_goes_away_is_said_to_be_away(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    with open_lakehouse(uri=uri, warehouse=f"file://{tmp_path}/warehouse") as lake:
        use(lake)
        lake.close()
        for path in tmp_path.glob("catalog.db*"):
            path.unlink()
        (tmp_path / "catalog.db").mkdir()
        for attempt in (
            lambda: lake.table("default.t"),
            lambda: lake.ensure_namespace("other.t"),
            lambda: stage_rows(lake, "default.t", [ROW]),
        ):
            with refused(
                f"Iceberg catalog 'trickle' at {uri} did not answer: unable to open database file. Check that its "
                f"folder exists and that this user may write to it, then try again."
            ):
                attempt()


def test_connections_that_were_cut_are_made_anew(tmp_path: Path) -> None:
    """A restarted PostgreSQL, or a firewall that forgets idle connections."""
    with open_lakehouse(uri=new_database(), warehouse=f"file://{tmp_path}/warehouse") as lake:
        use(lake)
        engine = create_engine(lake.database.url)
        with engine.connect() as connection:
            connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            )
        engine.dispose()
        lake.ensure_namespace("another.t")
        commit(lake, [stage_rows(lake, "another.t", [ROW])])
        assert rows_of(lake, "another.t") == [ROW]
