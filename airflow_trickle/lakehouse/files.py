"""Folders and files of the warehouse, on a disk or in a bucket, through Arrow's file systems."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import unquote, urlparse

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from airflow_trickle.errors import WarehouseUnavailable


def resolve(io: FileIO, location: str) -> tuple[FileSystem, str]:
    """The file system of a location, and the location's path in it."""
    if not isinstance(io, PyArrowFileIO):
        io = PyArrowFileIO(io.properties)
    scheme, netloc, path = PyArrowFileIO.parse_location(location, io.properties)
    return io.fs_by_scheme(scheme, netloc), path


def list_files(io: FileIO, folder: str) -> list[str]:
    """The files right inside a folder, as locations; a missing folder is empty."""
    filesystem, path = resolve(io, folder)
    infos: list[FileInfo] = filesystem.get_file_info(FileSelector(path, allow_not_found=True))
    names = sorted(info.base_name for info in infos if info.type == FileType.File)
    return [f"{folder.rstrip('/')}/{name}" for name in names]


def list_tree(io: FileIO, folder: str) -> list[str]:
    """The files inside a folder and the folders in it, as locations; a missing folder is empty."""
    filesystem, path = resolve(io, folder)
    infos: list[FileInfo] = filesystem.get_file_info(FileSelector(path, allow_not_found=True, recursive=True))
    inside = sorted(info.path.removeprefix(path).strip("/") for info in infos if info.type == FileType.File)
    return [f"{folder.rstrip('/')}/{name}" for name in inside]


@dataclass(frozen=True)
class FoundFile:
    """A file or a folder as a listing shows it; the time of its last change is in seconds, None where nobody knows."""

    location: str
    size: int
    modified: float | None
    is_folder: bool = False


def found_in(io: FileIO, folder: str) -> list[FoundFile]:
    """Everything inside a folder and the folders in it, with sizes and times; a missing folder is empty."""
    filesystem, path = resolve(io, folder)
    infos: list[FileInfo] = filesystem.get_file_info(FileSelector(path, allow_not_found=True, recursive=True))
    root = folder.rstrip("/")
    return [
        FoundFile(
            f"{root}/{info.path.removeprefix(path).strip('/')}",
            info.size or 0,
            info.mtime_ns / 1e9 if info.mtime_ns is not None and info.mtime_ns > 0 else None,
            info.type == FileType.Directory,
        )
        for info in sorted(infos, key=lambda one: one.path)
    ]


def place_of(io: FileIO, location: str) -> str:
    """What is the same for two spellings of one file (``file:///a`` and ``/a``)."""
    scheme, netloc, path = PyArrowFileIO.parse_location(location, io.properties)
    return f"{scheme}://{netloc}{path}"


def sizes_of(io: FileIO, locations: Iterable[str]) -> dict[str, int]:
    """The sizes of some files; those that are not there are left out."""
    found: dict[str, int] = {}
    by_system: dict[int, tuple[FileSystem, list[tuple[str, str]]]] = {}
    for location in locations:
        filesystem, path = resolve(io, location)
        by_system.setdefault(id(filesystem), (filesystem, []))[1].append((location, path))
    for filesystem, places in by_system.values():
        infos: list[FileInfo] = filesystem.get_file_info([path for _, path in places])
        found |= {
            place: info.size or 0 for (place, _), info in zip(places, infos, strict=True) if info.type == FileType.File
        }
    return found


def remove_empty_folders(io: FileIO, folders: Iterable[str], below: str) -> int:
    """Remove local folders that hold nothing, and those above them that hold nothing then; how many went.

    The system refuses to remove a folder in which somebody has just written. A bucket has no folders.
    """
    scheme, _, root = PyArrowFileIO.parse_location(below, io.properties)
    if scheme != "file":
        return 0
    removed = 0
    root = root.rstrip("/")
    for folder in sorted(set(folders), reverse=True):
        path = PyArrowFileIO.parse_location(folder, io.properties)[2].rstrip("/")
        with suppress(OSError):
            while path.startswith(f"{root}/"):
                os.rmdir(path)
                removed += 1
                path = os.path.dirname(path)
    return removed


def make_folder(io: FileIO, folder: str) -> None:
    """Create a folder and show at once whether the warehouse can be written."""
    filesystem, path = resolve(io, folder)
    with reported(folder):
        filesystem.create_dir(path, recursive=True)


def delete_folder(io: FileIO, folder: str) -> None:
    """Remove a folder and all that is in it; a missing one is fine."""
    filesystem, path = resolve(io, folder)
    if filesystem.get_file_info(path).type != FileType.NotFound:
        filesystem.delete_dir(path)


def delete_files(io: FileIO, locations: list[str]) -> None:
    """Remove files; missing ones are fine."""
    for location in locations:
        filesystem, path = resolve(io, location)
        if filesystem.get_file_info(path).type != FileType.NotFound:
            filesystem.delete_file(path)


def exists(io: FileIO, location: str) -> bool:
    """Whether something is at a location."""
    filesystem, path = resolve(io, location)
    return bool(filesystem.get_file_info(path).type != FileType.NotFound)


def missing(io: FileIO, locations: Iterable[str]) -> list[str]:
    """Of some files, those that are not there; one look at each, the files of a file system in one request."""
    by_system: dict[int, tuple[FileSystem, list[tuple[str, str]]]] = {}
    for location in locations:
        filesystem, path = resolve(io, location)
        by_system.setdefault(id(filesystem), (filesystem, []))[1].append((location, path))
    gone = []
    for filesystem, places in by_system.values():
        try:
            infos: list[FileInfo] = filesystem.get_file_info([path for _, path in places])
        except OSError as error:
            raise WarehouseUnavailable(
                f"The warehouse cannot be read at {places[0][0]}: {str(error).splitlines()[0].rstrip('.')}. Check that "
                f"it is mounted or reachable, then run the tick again; nothing was published."
            ) from error
        gone += [place for (place, _), info in zip(places, infos, strict=True) if info.type != FileType.File]
    return gone


def make_durable(io: FileIO, locations: Iterable[str]) -> None:
    """Wait until files on a local disk would survive a power cut; a bucket needs no such thing.

    What the catalog points to must not be less durable than the catalog itself.
    """
    folders = set()
    for location in locations:
        scheme, _, path = PyArrowFileIO.parse_location(location, io.properties)
        if scheme != "file":
            return
        _flush(path, os.O_RDONLY)
        folders.add(os.path.dirname(path))
    for folder in folders:
        _flush(folder, os.O_RDONLY | os.O_DIRECTORY)


def _flush(path: str, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def reported(location: str) -> Iterator[None]:
    """Turn a failing write into a message for people."""
    try:
        yield
    except OSError as error:
        raise WarehouseUnavailable(cannot_write(location, str(error))) from error


def cannot_write(location: str, cause: str) -> str:
    """The text for a warehouse that refuses to be written."""
    reason = (cause.strip() or "unknown error").splitlines()[0].rstrip(".")
    advice = (
        "Free some space, then run the tick again"
        if "no space left" in reason.lower()
        else "Check that the folder exists and that this user may write to it, then run the tick again"
    )
    return f"The warehouse cannot be written at {location}: {reason}. {advice}; nothing was published."


def spark_path(location: str) -> str:
    """A location as Spark takes it.

    >>> spark_path("file:///data/a%20b"), spark_path("/data/a b"), spark_path("s3://bucket/x")
    ('/data/a%20b', '/data/a b', 's3a://bucket/x')
    """
    parsed = urlparse(location)
    if parsed.scheme == "file":
        return location.removeprefix("file://") if location.startswith("file://") else location[len("file:") :]
    if parsed.scheme == "s3":
        return "s3a" + location[2:]
    return location


def spark_pattern(location: str) -> str:
    r"""A location as Spark's reader takes it: there a path is a pattern, so what would be one is escaped.

    >>> spark_pattern("/data/a[1]*.parquet")
    '/data/a\\[1\\]\\*.parquet'
    """
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", spark_path(location))


def is_hidden(location: str) -> bool:
    """Whether Spark takes a file for somebody's unfinished work and passes over it without a word.

    >>> is_hidden("/data/_x.parquet"), is_hidden("/_data/x.parquet")
    (True, False)
    """
    name = location.rsplit("/", 1)[-1]
    return name.startswith(("_", ".")) or name.endswith("._COPYING_")


def file_key(location: str) -> str:
    """What identifies one of our data files however its path is spelled: its folder and its name.

    >>> file_key("file:/w%20h/t/data/7f/part-0.parquet") == file_key("/w h/t/data/7f/part-0.parquet")
    True
    """
    return "/".join(unquote(location).rsplit("/", 2)[-2:])
