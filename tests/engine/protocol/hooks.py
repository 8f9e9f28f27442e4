"""Every operation on the database and on files, announced before and after it is done."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.fs import FileSystem, FileSystemHandler, PyFileSystem
from pyiceberg.io.pyarrow import PyArrowFileIO
from sqlalchemy import Engine, event

from airflow_trickle.lakehouse import files
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.database import Database

#: Gets the kind of an operation, what it is about, and whether it is done already; may raise.
Hook = Callable[[str, str, bool], None]


class _Local(threading.local):
    hook: Hook | None = None
    #: How many transactions of this thread are open.
    depth = 0
    #: The driver's connection of the statement that is announced.
    connection: Any = None


_LOCAL = _Local()


@contextmanager
def hooked(hook: Hook) -> Iterator[None]:
    """Announce the operations of this thread."""
    before, _LOCAL.hook = _LOCAL.hook, hook
    try:
        yield
    finally:
        _LOCAL.hook = before


def in_transaction() -> bool:
    """Whether this thread holds locks of the database."""
    return _LOCAL.depth > 0


def announce(kind: str, what: str, done: bool) -> None:
    """Tell of an operation."""
    if _LOCAL.hook is not None:
        _LOCAL.hook(kind, what, done)


class _Announcing(FileSystemHandler):
    """A file system that announces what it does."""

    def __init__(self, inner: FileSystem) -> None:
        self.inner = inner

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Announcing) and self.inner == other.inner

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return 0

    def get_type_name(self) -> str:
        return "announcing"

    def normalize_path(self, path: str) -> str:
        return str(self.inner.normalize_path(path))

    def get_file_info(self, paths: list[str]) -> Any:
        announce("look", paths[0] if paths else "", False)
        return self.inner.get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        announce("list", selector.base_dir, False)
        return self.inner.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        announce("mkdir", path, False)
        self.inner.create_dir(path, recursive=recursive)
        announce("mkdir", path, True)

    def delete_dir(self, path: str) -> None:
        announce("rmdir", path, False)
        self.inner.delete_dir(path)
        announce("rmdir", path, True)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        self.inner.delete_dir_contents(path, missing_dir_ok=missing_dir_ok)

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        announce("delete", path, False)
        self.inner.delete_file(path)
        announce("delete", path, True)

    def move(self, src: str, dest: str) -> None:
        announce("move", dest, False)
        self.inner.move(src, dest)
        announce("move", dest, True)

    def copy_file(self, src: str, dest: str) -> None:
        self.inner.copy_file(src, dest)

    def open_input_stream(self, path: str) -> Any:
        announce("read", path, False)
        return self.inner.open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        announce("read", path, False)
        return self.inner.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        announce("create", path, False)
        return pa.PythonFile(_Writer(path, self.inner.open_output_stream(path)), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError


class _Writer:
    """A file that is written; half of it may be there when it fails."""

    def __init__(self, path: str, stream: Any) -> None:
        self.path, self.stream, self.size, self.closed = path, stream, 0, False

    def write(self, data: Any) -> int:
        content = bytes(data)
        if self.size == 0:
            announce("write", self.path, False)
        self.stream.write(content)
        self.size += len(content)
        return len(content)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self.stream.flush()

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.stream.close()
        announce("write", self.path, True)

    def seekable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False


def announce_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all file systems and all of our own transactions announce what they do."""
    made = PyArrowFileIO._initialize_fs
    begun, reading, one_moment, flush = Database._begun, Database.reading, Database.one_moment, files._flush

    def file_system(self: PyArrowFileIO, scheme: str, netloc: str | None = None) -> FileSystem:
        return PyFileSystem(_Announcing(made(self, scheme, netloc)))

    @contextmanager
    def announced(self: Database, how: Callable[[Database], Any], kind: str) -> Iterator[Any]:
        if _LOCAL.depth == 0:
            announce(kind, "", False)
        _LOCAL.depth += 1
        try:
            with how(self) as connection:
                yield connection
        finally:
            _LOCAL.depth -= 1
        if _LOCAL.depth == 0:
            announce(kind, "", True)

    def durable(path: str, flags: int) -> None:
        announce("fsync", path, False)
        if os.path.exists(path):
            return  # the disk itself is not what is tested
        flush(path, flags)

    monkeypatch.setattr(PyArrowFileIO, "_initialize_fs", file_system)
    monkeypatch.setattr(Database, "_begun", lambda self: announced(self, begun, "transaction"))
    monkeypatch.setattr(Database, "reading", lambda self: announced(self, reading, "reading"))
    monkeypatch.setattr(Database, "one_moment", lambda self: announced(self, one_moment, "reading"))
    monkeypatch.setattr(files, "_flush", durable)


def announce_statements(lake: Lakehouse) -> None:
    """Let each statement and each COMMIT of a catalog announce itself; what a hook raises is an error of the driver."""
    for engine in (lake.database.engine, lake.catalog.engine):
        _announce_statements(engine)


def _announce_statements(engine: Engine) -> None:
    def execute(cursor: Any, statement: str, parameters: Any, context: Any) -> bool:
        kind = "COMMIT" if statement == "COMMIT" else "statement"
        _LOCAL.connection = cursor.connection
        announce(kind, statement, False)
        cursor.execute(statement, parameters)
        if not statement.startswith("SELECT"):  # an answer that is lost is a question that failed
            announce(kind, statement, True)
        return True

    event.listen(engine, "do_execute", execute)
    committed = engine.dialect.do_commit

    def commit(connection: Any) -> None:
        if engine.dialect.name == "sqlite":
            committed(connection)  # a statement there
            return
        _LOCAL.connection = connection
        announce("COMMIT", "", False)
        committed(connection)
        announce("COMMIT", "", True)

    engine.dialect.do_commit = commit  # type: ignore[method-assign]


def cut() -> None:
    """Close the connection of the statement that is announced, as a server does that goes away."""
    with suppress(Exception):
        _LOCAL.connection.close()
