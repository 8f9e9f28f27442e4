"""Opening the lakehouse: the Iceberg catalog the pyiceberg way, with an embedded default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, ValidationError
from pyiceberg.io import FileIO
from pyiceberg.serializers import Compressor, FromByteStream
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.utils.config import Config
from sqlalchemy import Connection, event, make_url, or_, select
from sqlalchemy import Table as SqlTable
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from airflow_trickle.definition.settings import trickle_home
from airflow_trickle.errors import CatalogUnavailable, WarehouseUnavailable
from airflow_trickle.folders import private_folder
from airflow_trickle.lakehouse import tables as state_tables
from airflow_trickle.lakehouse.database import SQLITE_BUSY_SECONDS, Database, unreachable
from airflow_trickle.lakehouse.metadata_cache import MetadataCache

#: One row per Iceberg table: where its current metadata is.
CATALOG_ROWS = cast(SqlTable, IcebergTables.__table__)

#: PostgreSQL and SQLite both take thousands of bound values; stay well below either limit.
_IDENTIFIERS_PER_QUERY = 500


@dataclass(frozen=True)
class Unseen:
    """What a table of an atomic group will be once the group is published: for those of the group that read it.

    ``location`` is that of its staged metadata, None if its rows stay as they are; ``status`` are the columns of its
    status that will be others.
    """

    location: str | None
    status: Mapping[str, Any]


class Lakehouse:
    """The catalog, its database and the state beside it; open it with `open_lakehouse`.

    >>> with open_lakehouse("trickle") as lake:          # doctest: +SKIP
    ...     lake.table("default.orders").scan().to_arrow()
    """

    def __init__(self, catalog: SqlCatalog, database: Database) -> None:
        self.catalog = catalog
        self.database = database
        #: Tables whose staged state is seen instead of the published one.
        self.unseen: Mapping[str, Unseen] = {}
        self._metadata = MetadataCache(self._read_metadata)

    def seeing(self, unseen: Mapping[str, Unseen]) -> Lakehouse:
        """The same lakehouse with the staged state of some tables in place of what is published of them."""
        found = copy(self)
        found.unseen = dict(unseen)
        return found

    @property
    def name(self) -> str:
        """The catalog's name."""
        return self.catalog.name

    def locations(self, identifiers: Iterable[str]) -> dict[str, str]:
        """Where the current metadata of each table is, all seen at one moment; missing tables are left out."""
        wanted = sorted(set(identifiers))
        parts = [
            wanted[start : start + _IDENTIFIERS_PER_QUERY] for start in range(0, len(wanted), _IDENTIFIERS_PER_QUERY)
        ]
        found: dict[str, str] = {}
        # One statement never sees half of a commit; several need a transaction around them.
        look = self.database.reading if len(parts) < 2 else self.database.one_moment
        with look() as connection:
            for part in parts:
                found |= self._locations(connection, part)
        staged = {name: self.unseen[name].location for name in wanted if name in self.unseen}
        return found | {name: location for name, location in staged.items() if location is not None}

    def _locations(self, connection: Connection, identifiers: list[str]) -> dict[str, str]:
        by_namespace: dict[str, list[str]] = {}
        for identifier in identifiers:
            namespace, table = split_identifier(identifier)
            by_namespace.setdefault(namespace, []).append(table)
        rows = CATALOG_ROWS
        query = select(rows.c.table_namespace, rows.c.table_name, rows.c.metadata_location).where(
            rows.c.catalog_name == self.name,
            or_(
                *(
                    (rows.c.table_namespace == namespace) & rows.c.table_name.in_(names)
                    for namespace, names in by_namespace.items()
                )
            ),
        )
        only_tables = self.catalog._iceberg_type_filter()
        if only_tables is not None:
            query = query.where(only_tables)
        return {f"{row[0]}.{row[1]}": row[2] for row in connection.execute(query) if row[2]}

    def table(self, identifier: str) -> Table | None:
        """The table as it is now, or None when the catalog does not have it."""
        location = self.locations([identifier]).get(identifier)
        return self.table_at(identifier, location) if location else None

    def tables(self, identifiers: Iterable[str]) -> dict[str, Table]:
        """Several tables as they are at one moment: never two sides of one commit.

        >>> lake.tables(["default.a", "default.b"])          # doctest: +SKIP
        """
        return {name: self.table_at(name, location) for name, location in self.locations(identifiers).items()}

    def table_at(self, identifier: str, location: str) -> Table:
        """The table as the metadata file at ``location`` describes it (such files never change)."""
        metadata = self._metadata.get(location)
        return Table(
            identifier=(*split_identifier(identifier)[0].split("."), split_identifier(identifier)[1]),
            metadata=metadata,
            metadata_location=location,
            io=self.io(metadata.properties, location),
            catalog=self.catalog,
        )

    def _read_metadata(self, location: str) -> tuple[TableMetadata, int]:
        """The metadata and the size of its text."""
        try:
            with self.io({}, location).new_input(location).open() as stream:
                text = Compressor.get_compressor(location).stream_decompressor(stream).read()
            return FromByteStream.table_metadata(BytesIO(text)), len(text)  # type: ignore[arg-type]
        except (OSError, ValueError, ValidationError) as error:
            raise WarehouseUnavailable(
                f"The table metadata {location} cannot be read: {_cause(error)}. Check that the warehouse is "
                f"mounted or reachable and that the file was not removed."
            ) from error

    def io(self, properties: dict[str, str], location: str) -> FileIO:
        """File access for a table, with the catalog's credentials."""
        return self.catalog._load_file_io(properties, location)

    def ensure_namespace(self, identifier: str) -> None:
        """Create the namespace of a table if the catalog lacks it."""
        namespace = split_identifier(identifier)[0]
        try:
            self.catalog.create_namespace(namespace)
        except (NamespaceAlreadyExistsError, IntegrityError):
            return
        except SQLAlchemyError as error:
            raise CatalogUnavailable(unreachable(self.database.where, error)) from error

    def close(self) -> None:
        """Give the database connections back."""
        self.catalog.engine.dispose()
        self.database.close()

    def __enter__(self) -> Lakehouse:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def split_identifier(identifier: str) -> tuple[str, str]:
    """Namespace and table of an identifier.

    >>> split_identifier("sales.eu.orders")
    ('sales.eu', 'orders')
    """
    namespace, _, table = identifier.rpartition(".")
    return namespace, table


def catalog_properties(name: str) -> dict[str, str]:
    """The catalog's settings from .pyiceberg.yaml and PYICEBERG_CATALOG__…, else the embedded default."""
    # A fresh Config: pyiceberg's own is read once, when the module is imported.
    configured = Config().get_catalog_config(name)
    if not configured:
        home = _embedded_home()
        return {"uri": f"sqlite:///{home / 'catalog.db'}", "warehouse": f"file://{home / 'warehouse'}"}
    return {key: str(value) for key, value in configured.items()}


def was_opened(name: str) -> bool:
    """Whether there may be anything in a catalog: a file of SQLite is made by who opens it first."""
    try:
        url = make_url(catalog_properties(name).get("uri", ""))
    except ArgumentError:
        return True  # whoever opens it is told what is wrong with its address
    return url.get_backend_name() != "sqlite" or Path(url.database or "").exists()


def open_lakehouse(name: str = "trickle", **overrides: str) -> Lakehouse:
    """Open the catalog and make its state tables ready.

    Raises:
        CatalogUnavailable: the database did not answer, or the catalog is not an SQL catalog.
    """
    properties = catalog_properties(name) | overrides
    _require_sql(name, properties)
    database = Database(properties["uri"], name)
    _make_embedded_folders(properties)
    # First: it also makes pyiceberg's tables, under a lock. Left to itself, pyiceberg fails when two processes
    # open a new catalog at once.
    state_tables.install(database)
    try:
        # A connection of the pool may have been cut meanwhile, by a restart of the database for one.
        catalog = SqlCatalog(name, **{"pool_pre_ping": "true", **properties})
    except SQLAlchemyError as error:
        raise CatalogUnavailable(unreachable(database.where, error)) from error
    if database.is_sqlite:
        event.listen(catalog.engine, "connect", _wait_for_locks)
        catalog.engine.dispose()
    return Lakehouse(catalog, database)


def _wait_for_locks(connection: Any, _record: Any) -> None:
    connection.execute(f"PRAGMA busy_timeout={SQLITE_BUSY_SECONDS * 1000}")


def _require_sql(name: str, properties: dict[str, str]) -> None:
    prefix = f"PYICEBERG_CATALOG__{name.upper()}__"
    uri = properties.get("uri", "")
    guessed = {"http": "rest", "https": "rest", "thrift": "hive"}.get(uri.partition(":")[0].lower(), "sql")
    kind = properties.get("type", guessed).lower()
    if not uri:
        raise CatalogUnavailable(
            f"Iceberg catalog '{name}' has no uri. Set {prefix}URI (for example "
            f"sqlite:////data/catalog.db) or `uri` in .pyiceberg.yaml."
        )
    if kind != "sql":
        raise CatalogUnavailable(
            f"Iceberg catalog '{name}' is not an SQL catalog (type {kind}). airflow-trickle publishes several "
            f"tables in one database transaction and so needs type sql, on SQLite or PostgreSQL. "
            f"Set {prefix}TYPE=sql and {prefix}URI."
        )
    if not properties.get("warehouse"):
        raise CatalogUnavailable(
            f"Iceberg catalog '{name}' has no warehouse. Set {prefix}WAREHOUSE to the folder or bucket that "
            f"holds the tables, for example file:///data/warehouse."
        )


def _make_embedded_folders(properties: dict[str, str]) -> None:
    home = _embedded_home()
    if properties["uri"] != f"sqlite:///{home / 'catalog.db'}":
        return
    if any(sign in str(home) for sign in "#?"):
        # In an address these begin something else than a path.
        raise CatalogUnavailable(
            f"The folder {home} for the embedded catalog has a # or ? in its path, which Iceberg clients do not "
            f"take. Set TRICKLE_HOME to another folder."
        )
    try:
        private_folder(home)
    except OSError as error:
        raise CatalogUnavailable(
            f"The folder {home} for the embedded catalog cannot be made: {error.strerror}. "
            f"Set TRICKLE_HOME to a folder you can write to."
        ) from error


def _embedded_home() -> Path:
    """Absolute: the warehouse's address is stored in every table and must not depend on who opens it where."""
    return trickle_home().absolute()


def _cause(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if not isinstance(error, OSError):
        return "it is not the metadata of an Iceberg table"
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
