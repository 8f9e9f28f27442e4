"""The database behind the catalog: one engine, short write transactions, errors in words."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from airflow_trickle.errors import CatalogUnavailable, CommitUnanswered
from airflow_trickle.lakehouse.file_systems import network_file_system
from airflow_trickle.tuning import tuning

#: Writers of SQLite queue on one lock; a commit holds it for milliseconds, so a minute is plenty.
SQLITE_BUSY_SECONDS = 60

#: A PostgreSQL that does not take a connection within this time is away; without it a silent one is waited for minutes.
CONNECT_SECONDS = 10

#: PostgreSQL has undone the transaction because of another one: serialization failure, deadlock.
_LOST_TO_ANOTHER = ("40001", "40P01")
#: So long, in seconds, a transaction that lost waits before it is run again; after the last it is given up.
_PAUSES = (0.02, 0.1, 0.3, 1.0)
#: A lock or a statement took longer than it may.
_TIMED_OUT = ("55P03", "57014")
#: Answers to COMMIT after which the transaction is surely undone: by another transaction, or by a constraint.
_UNDONE = ("40", "23")

T = TypeVar("T")


class Database:
    """A SQLAlchemy engine whose write transactions never deadlock on a lock upgrade.

    SQLite begins every transaction here with ``BEGIN IMMEDIATE``: a transaction that reads and then
    writes would otherwise fail at once ("database is locked") when another writer came between.
    """

    def __init__(self, uri: str, catalog: str) -> None:
        self.catalog = catalog
        self.url = _parse(uri, catalog)
        try:
            self.engine = create_engine(self.url, pool_pre_ping=True, connect_args=_connect_args(self.url))
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise CatalogUnavailable(
                f"{self.where}: its database driver is not installed ({error}). "
                f"For PostgreSQL: pip install 'airflow-trickle[postgres]'."
            ) from None
        except ArgumentError:
            raise _no_address(catalog) from None
        if self.is_sqlite and self.url.database in (None, "", ":memory:"):
            raise CatalogUnavailable(
                f"Iceberg catalog '{catalog}' is an SQLite database in memory, which no other process sees. Give it "
                f"a file, for example sqlite:////data/catalog.db."
            )
        if self.is_sqlite:
            self._require_local_disk()
            prepare_sqlite(self.engine)

    def _require_local_disk(self) -> None:
        file = Path(str(self.url.database).removeprefix("file:").partition("?")[0])
        kind = network_file_system(file)
        if kind is not None:
            raise CatalogUnavailable(
                f"{self.where}: the file lies on a network file system ({kind}), on which SQLite's locks and its "
                f"write-ahead log do not hold: two processes could publish over each other. Put the file on a local "
                f"disk; if several hosts use the catalog, use PostgreSQL: PYICEBERG_CATALOG__{self.catalog.upper()}__"
                f"URI=postgresql+psycopg2://user@host:5432/database."
            )

    @property
    def is_sqlite(self) -> bool:
        """Whether the catalog is an SQLite file."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def where(self) -> str:
        """The catalog and its address, without a password, as errors name it."""
        shown = self.url.difference_update_query(["password", "passfile", "sslpassword"])
        return f"Iceberg catalog '{self.catalog}' at {shown.render_as_string(hide_password=True)}"

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A write transaction: committed at the end of the block, rolled back on any error.

        Raises:
            CommitUnanswered: the connection was lost at COMMIT: it may count, or not.
        """
        with self._reported(), self._begun() as connection:
            yield connection

    def run(self, work: Callable[[Connection], T]) -> T:
        """A write transaction that is run again if PostgreSQL has undone it because of another one.

        ``work`` must do nothing but use the connection.

        Raises:
            CommitUnanswered: the connection was lost at COMMIT: it may count, or not.
        """
        first: DBAPIError | None = None
        with self._reported():
            for pause in (*_PAUSES, None):
                try:
                    with self._begun() as connection:
                        return work(connection)
                except DBAPIError as error:
                    if sqlstate(error) not in _LOST_TO_ANOTHER:
                        raise
                    first = first or error
                    if pause is None:
                        raise first from None
                    # Not in step with the other one.
                    time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
        raise AssertionError("not reached")

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        with self.engine.connect() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.begin()
                _limit(connection)
            try:
                yield connection
            except BaseException:
                self._undo(connection)
                raise
            self._commit(connection)

    def _commit(self, connection: Connection) -> None:
        try:
            if self.is_sqlite:
                connection.exec_driver_sql("COMMIT")
            else:
                connection.commit()
        except DBAPIError as error:
            self._undo(connection)
            if (sqlstate(error) or "")[:2] in _UNDONE:
                raise
            raise CommitUnanswered(unreachable(self.where, error)) from error

    def _undo(self, connection: Connection) -> None:
        # The first error is the one to tell: a disk that failed may refuse this too, or has undone all by itself, and a
        # connection that is gone takes no more words.
        with suppress(DBAPIError):
            if self.is_sqlite:
                connection.exec_driver_sql("ROLLBACK")
            else:
                connection.rollback()

    def now(self, connection: Connection) -> float:
        """Seconds since 1970 by the clock of the database, which is the same for all workers.

        SQLite has that of its host, and so do all that use it.
        """
        if self.is_sqlite:
            return time.time()
        return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for reads; every statement sees one consistent state."""
        with self._reported(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def one_moment(self) -> Iterator[Connection]:
        """A connection for reads; all its statements together see one consistent state."""
        with self._reported(), self.engine.connect() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN")
                try:
                    yield connection
                finally:
                    self._undo(connection)  # nothing was written
            else:
                yield connection.execution_options(isolation_level="REPEATABLE READ")

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            if isinstance(error.orig, sqlite3.IntegrityError) or "IntegrityError" in type(error).__name__:
                raise
            raise CatalogUnavailable(unreachable(self.where, error)) from error

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()


def _connect_args(url: URL) -> dict[str, Any]:
    """A server that does not answer is given up after a while; what the address itself says wins."""
    # Only these take the settings of libpq.
    if url.get_backend_name() != "postgresql" or url.get_driver_name() not in ("psycopg2", "psycopg"):
        return {}
    alive = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
    wanted = {"connect_timeout": CONNECT_SECONDS, **alive}
    return {name: value for name, value in wanted.items() if name not in url.query}


def _limit(connection: Connection) -> None:
    """Bound how long this transaction waits, and how long others wait for it if its process stands still."""
    if connection.dialect.name != "postgresql":
        return
    limits = tuning()
    connection.execute(
        text(
            "SELECT set_config('lock_timeout', :lock, true), set_config('statement_timeout', :statement, true), "
            "set_config('idle_in_transaction_session_timeout', :idle, true)"
        ),
        {
            "lock": f"{limits.database_lock_seconds * 1000:.0f}",
            "statement": f"{limits.database_statement_seconds * 1000:.0f}",
            "idle": f"{limits.database_idle_seconds * 1000:.0f}",
        },
    )


def sqlstate(error: DBAPIError) -> str | None:
    """The code that PostgreSQL has given an error; None without an answer, and for other databases."""
    # psycopg2 and psycopg have a name of their own for it.
    code = getattr(error.orig, "pgcode", None) or getattr(error.orig, "sqlstate", None)
    return code if isinstance(code, str) else None


def _parse(uri: str, catalog: str) -> URL:
    try:
        return make_url(uri)
    except (ArgumentError, ValueError):
        raise _no_address(catalog) from None


def _no_address(catalog: str) -> CatalogUnavailable:
    # The address itself is not shown: what cannot be read may hold a password anywhere.
    return CatalogUnavailable(
        f"Iceberg catalog '{catalog}': its uri is not a database address. Allowed are addresses such as "
        f"sqlite:////data/catalog.db or postgresql+psycopg2://user@host:5432/database. Correct "
        f"PYICEBERG_CATALOG__{catalog.upper()}__URI or .pyiceberg.yaml."
    )


def unreachable(where: str, error: SQLAlchemyError) -> str:
    """The text for a database that did not do what was asked."""
    cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0].strip().rstrip(".")
    code = sqlstate(error) if isinstance(error, DBAPIError) else None
    if code in _TIMED_OUT:
        return (
            f"{where} did not answer in time: {cause}. Look for a transaction that holds locks for long, such as a "
            f"backup or a session left open (pg_stat_activity shows it), then try again."
        )
    advice = (
        "its folder exists and that this user may write to it"
        if cause == "unable to open database file"
        else "the database is running and that the address, user and rights are right"
    )
    return f"{where} did not answer: {cause}. Check that {advice}, then try again."


def one_at_a_time(connection: Connection, what: str) -> None:
    """Wait until no other transaction does the same thing; SQLite has one writer at a time anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:what))"), {"what": what})


def prepare_sqlite(engine: Engine) -> None:
    """Let readers go on while one writes (WAL), and let writers wait for each other."""

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:
        # The driver's own transaction handling would begin DEFERRED ones behind our back.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={SQLITE_BUSY_SECONDS * 1000}")
        _use_wal(cursor)
        # FULL: a commit that was reported must survive a power cut.
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.close()


def _use_wal(cursor: sqlite3.Cursor) -> None:
    """Switch to WAL; alone of all statements this one does not always wait when a new file is opened twice."""
    deadline = time.monotonic() + SQLITE_BUSY_SECONDS
    while True:
        try:
            mode = cursor.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    if mode != "wal":
        raise CatalogUnavailable(
            f"The SQLite database of the catalog cannot keep a write-ahead log: its journal mode stays '{mode}', so "
            f"readers and writers would block each other. Put the file on a local disk, or use PostgreSQL."
        )
