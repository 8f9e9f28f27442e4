"""Who owns a warehouse: one catalog database, named by a small file in it.

A copy of a catalog's database knows the same tables and the same unfinished work as the original, and would take the
files of a refresh that is under way for leftovers. So before anything is written, cleaned or dropped, three things are
compared:

- the *id* of the database, made once, with the one in the warehouse;
- the *place* of the database (file or server) with where the id was made: a copy is somewhere else;
- a *token*, which each tick replaces in the database and then in the warehouse: those of a clone that has even the same
  place, such as a restored disk image, stay behind as soon as the original has run a tick.

A warehouse without such a file is adopted by the first database that writes to it.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import struct
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from pyarrow.fs import FileSelector, FileSystem, FileType
from pyiceberg.io.pyarrow import PyArrowFileIO
from sqlalchemy import Connection, delete, insert, select, text

from airflow_trickle.errors import NotTheOwner, WarehouseUnavailable
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.database import Database, one_at_a_time
from airflow_trickle.lakehouse.files import reported, resolve
from airflow_trickle.lakehouse.tables import meta

log = logging.getLogger("airflow_trickle")

MARKER = "_trickle_owner.json"
_KEY = "owner"
#: A process that stood still for so many ticks may still write the token that it had made.
_TOKENS = 256
#: A file that waits for so long to be moved into its place is waited for by nobody.
_OLD_SECONDS = 3600
#: Names of one file system.
_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "wasb"}


@dataclass(frozen=True)
class Identity:
    """What a catalog's database says of itself."""

    id: str
    #: What tells where it is, and how that is shown.
    place: str
    shown: str
    #: The latest is the last.
    tokens: tuple[str, ...]

    def as_json(self) -> str:
        """As the database keeps it."""
        return json.dumps({"id": self.id, "place": self.place, "shown": self.shown, "tokens": self.tokens})


@dataclass(frozen=True)
class Marker:
    """What a warehouse says of its owner; without a ``token`` only the id counts."""

    id: str
    token: str | None
    shown: str


def require_owner(lake: Lakehouse, location: str) -> None:
    """Fail unless this catalog's database owns the folder of a table; what nobody owns becomes its own.

    Raises:
        NotTheOwner: another one owns it, or this one is a copy.
    """
    identity = _identity(lake)
    _require_place(lake, identity)
    folder, marker = _nearest(lake, location)
    if marker is None:
        marker = lake.database.run(lambda connection: _adopted(lake, connection, folder))
    if not _is_owner(identity, marker):
        # Another process may have made a new token between the two looks.
        identity = _identity(lake)
        if not _is_owner(identity, marker):
            raise NotTheOwner(_refusal(lake, identity, folder, marker))


def renew_marker(lake: Lakehouse) -> None:
    """With each tick: replace the token, so that a clone of the database notices that it is one.

    Raises:
        NotTheOwner: another database owns the warehouse, or this one is a copy.
    """
    root = _root(lake)
    require_owner(lake, root)
    token = uuid.uuid4().hex[:12]

    def note(connection: Connection) -> Identity:
        one_at_a_time(connection, _KEY)
        identity = _made(lake, connection)
        # The database first: what the warehouse says is always known here.
        renewed = Identity(identity.id, identity.place, identity.shown, (*identity.tokens, token)[-_TOKENS:])
        _write_identity(connection, renewed)
        return renewed

    identity = lake.database.run(note)
    _write_marker(lake, root, Marker(identity.id, token, identity.shown))


def take_over(lake: Lakehouse, location: str | None = None) -> str:
    """Make this database the owner of its warehouse, or of another folder, whoever was it before; returns the folder.

    A database that was copied or moved gets a new id with that, so that the one it was copied from owns nothing here.
    """
    folder = _root(lake) if location is None else location.rstrip("/")
    place, shown = _place(lake.database)
    marker = _read(lake, folder)

    def note(connection: Connection) -> Identity:
        one_at_a_time(connection, _KEY)
        known = _made(lake, connection)
        stays = known.place == place and (marker is None or marker.id != known.id or _is_owner(known, marker))
        identity = known if stays else Identity(uuid.uuid4().hex, place, shown, (uuid.uuid4().hex[:12],))
        _write_identity(connection, identity)
        return identity

    identity = lake.database.run(note)
    token = identity.tokens[-1] if folder == _root(lake) else None
    _write_marker(lake, folder, Marker(identity.id, token, identity.shown))
    return folder


def _is_owner(identity: Identity, marker: Marker) -> bool:
    return marker.id == identity.id and (marker.token is None or marker.token in identity.tokens)


# --- the database's side ---------------------------------------------------------------------------


def _identity(lake: Lakehouse) -> Identity:
    with lake.database.reading() as connection:
        known = _read_identity(connection)
    return known or lake.database.run(lambda connection: _made(lake, connection))


def _made(lake: Lakehouse, connection: Connection) -> Identity:
    """The identity, which is made with the first question for it."""
    one_at_a_time(connection, _KEY)
    known = _read_identity(connection)
    if known is None:
        known = Identity(uuid.uuid4().hex, *_place(lake.database), (uuid.uuid4().hex[:12],))
        _write_identity(connection, known)
    return known


def _read_identity(connection: Connection) -> Identity | None:
    value = connection.execute(select(meta.c.value).where(meta.c.key == _KEY)).scalar()
    if value is None:
        return None
    said = json.loads(value)
    return Identity(said["id"], said["place"], said["shown"], tuple(said["tokens"]))


def _write_identity(connection: Connection, identity: Identity) -> None:
    connection.execute(delete(meta).where(meta.c.key == _KEY))
    connection.execute(insert(meta).values(key=_KEY, value=identity.as_json()))


def _require_place(lake: Lakehouse, identity: Identity) -> None:
    place, shown = _place(lake.database)
    if place != identity.place:
        raise NotTheOwner(
            f"The database of {lake.database.where} is a copy, or was moved: its identity was made at "
            f"{identity.shown}, and now it is at {shown}. Nothing is written, cleaned or dropped, so that the files of "
            f"the original are safe. If this one replaces it for good (a restore, a migration): stop everything that "
            f"uses the original, then run `trickle take-over`. If it is a copy to try things with, give it a warehouse "
            f"of its own and new tables."
        )


def _place(database: Database) -> tuple[str, str]:
    """What tells this database from a copy, and how it is shown."""
    if database.is_sqlite:
        if database not in _FILES:
            # The address may be an URI, or relative.
            with database.reading() as connection:
                main = next(row for row in connection.exec_driver_sql("PRAGMA database_list") if row[1] == "main")
            _FILES[database] = os.path.realpath(main[2])
        path = _FILES[database]
        found = os.stat(path)
        # Neither changes with a restart or another mount of the same folder; both do with a copy.
        return f"sqlite {found.st_ino} {_birth(path, found)}", path
    if database not in _SERVERS:
        _SERVERS[database] = _server(database)
    return _SERVERS[database]


#: Asked once: an open catalog does not get another file or server.
_FILES: WeakKeyDictionary[Database, str] = WeakKeyDictionary()
_SERVERS: WeakKeyDictionary[Database, tuple[str, str]] = WeakKeyDictionary()


def _server(database: Database) -> tuple[str, str]:
    with database.reading() as connection:
        query = "SELECT datname, oid FROM pg_database WHERE datname = current_database()"
        name, number = connection.execute(text(query)).one()
        server = None
        # Some providers do not allow it; then a copy on another server is told by its tokens.
        if connection.execute(text("SELECT has_function_privilege('pg_control_system()', 'execute')")).scalar_one():
            server = connection.execute(text("SELECT system_identifier FROM pg_control_system()")).scalar_one()
    return f"postgresql {server} {number} {name}", f"database {name} on {database.url.host or 'localhost'}"


def _birth(path: str, found: os.stat_result) -> int:
    """When a file was made, in nanoseconds; 0 where the system does not tell."""
    told = getattr(found, "st_birthtime", None)
    if told is not None:
        return int(told * 1e9)
    statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    buffer = ctypes.create_string_buffer(256)
    here, asked = -100, 0x800  # AT_FDCWD, STATX_BTIME
    if statx is None or statx(here, os.fsencode(path), 0, asked, buffer) != 0:
        return 0
    (mask,) = struct.unpack_from("=I", buffer, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, 80)
    return int(seconds * 10**9 + nanoseconds) if mask & asked else 0


# --- the warehouse's side --------------------------------------------------------------------------


def _root(lake: Lakehouse) -> str:
    return str(lake.catalog.properties["warehouse"]).rstrip("/")


def _parts(lake: Lakehouse, location: str) -> tuple[str, str, str]:
    scheme, netloc, path = PyArrowFileIO.parse_location(location, lake.catalog.properties)
    return _SAME_SCHEME.get(scheme, scheme), netloc, path.rstrip("/")


def _nearest(lake: Lakehouse, location: str) -> tuple[str, Marker | None]:
    """The folder that tells who owns a table's folder, and what it tells.

    Inside of the catalog's warehouse that is the warehouse. A table elsewhere, of another warehouse that the catalog
    had before, belongs to whom the nearest marker above it names.
    """
    root, place = _parts(lake, _root(lake)), _parts(lake, location)
    if place[:2] == root[:2] and f"{place[2]}/".startswith(f"{root[2]}/"):
        return _root(lake), _read(lake, _root(lake))
    folder = location.rstrip("/")
    while _parts(lake, folder)[2].strip("/"):
        marker = _read(lake, folder)
        if marker is not None:
            return folder, marker
        above = folder.rpartition("/")[0]
        if not above or above.endswith(":/") or above == folder:
            break
        folder = above
    return location.rstrip("/"), None


def _read(lake: Lakehouse, folder: str) -> Marker | None:
    path = f"{folder}/{MARKER}"
    filesystem, inside = resolve(lake.io({}, folder), path)
    try:
        if filesystem.get_file_info(inside).type == FileType.NotFound:
            return None
        with filesystem.open_input_stream(inside) as stream:
            said = json.loads(stream.read())
        return Marker(said["id"], said["token"], said["database"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WarehouseUnavailable(
            f"The file {path}, which names the owner of the warehouse, cannot be read: {str(error).splitlines()[0]}. "
            f"Check that the warehouse is reachable. If the file was damaged, run `trickle take-over` with the catalog "
            f"that owns the warehouse."
        ) from error


def _adopted(lake: Lakehouse, connection: Connection, folder: str) -> Marker:
    """The marker of a folder, which becomes this database's own if it has none; one process at a time."""
    identity = _made(lake, connection)
    found = _read(lake, folder)
    if found is not None:
        return found
    marker = Marker(identity.id, identity.tokens[-1] if folder == _root(lake) else None, identity.shown)
    _write_marker(lake, folder, marker)
    # Who has written last is the owner, if two databases have done it at the same moment.
    return _read(lake, folder) or marker


def _write_marker(lake: Lakehouse, folder: str, marker: Marker) -> None:
    path = f"{folder}/{MARKER}"
    content = json.dumps({"id": marker.id, "token": marker.token, "database": marker.shown}).encode()
    with reported(path):
        filesystem, inside = resolve(lake.io({}, folder), path)
        if PyArrowFileIO.parse_location(path, lake.catalog.properties)[0] != "file":
            with filesystem.open_output_stream(inside) as stream:  # a bucket shows a file when it is whole
                stream.write(content)
            return
        home = inside.rpartition("/")[0]
        filesystem.create_dir(home, recursive=True)
        beside = f"{inside}.{uuid.uuid4().hex[:8]}"
        try:
            with filesystem.open_output_stream(beside) as stream:
                stream.write(content)
            filesystem.move(beside, inside)
        except BaseException:
            with suppress(OSError):
                filesystem.delete_file(beside)
            raise
        _tidy(filesystem, home)


def _tidy(filesystem: FileSystem, home: str) -> None:
    """Remove what processes left that were killed right before they moved it into its place."""
    for found in filesystem.get_file_info(FileSelector(home)):
        if found.base_name.startswith(f"{MARKER}.") and found.mtime_ns < time.time_ns() - _OLD_SECONDS * 10**9:
            filesystem.delete_file(found.path)


def _refusal(lake: Lakehouse, identity: Identity, folder: str, marker: Marker) -> str:
    whose = (
        f"a clone of this database has used it since ({marker.shown})"
        if marker.id == identity.id
        else f"it belongs to another catalog database ({marker.shown})"
    )
    other = "" if folder == _root(lake) else f" --warehouse {folder}"
    return (
        f"{lake.database.where} does not own the warehouse {folder}: {whose}. Nothing is written, cleaned or dropped "
        f"there, so that the files of the other one are safe. Give this catalog a warehouse of its own; or, if it "
        f"replaces the other one for good, stop everything that uses that one, then run `trickle take-over{other}`."
    )
