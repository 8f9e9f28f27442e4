"""The files of a folder that others write: which there are, and how to tell that one was changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pyarrow.fs import FileSelector, FileType

from airflow_trickle.errors import SourceMissing, UnsupportedTable, WarehouseUnavailable
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.files import resolve, spark_path

#: What Hive, and Spark after it, write for a NULL in the name of a folder.
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class ListedFile:
    """A file that others wrote.

    ``path`` is what Spark calls it, without any escapes. ``identity`` changes whenever the file may have changed: its
    size, its times, on a disk also its number, so that a file with a copied time is noticed too.
    """

    path: str
    location: str
    identity: str
    size: int
    #: Seconds since 1970.
    modified: float
    #: Columns that stand in the names of folders, ``day=2026-01-31``; None is NULL.
    partition: tuple[tuple[str, str | None], ...] = ()


def list_folder(lake: Lakehouse, folder: str) -> dict[str, ListedFile]:
    """The data files below a folder (or the one file at a path) by path; hidden ones are left out, as Spark does.

    Raises:
        SourceMissing: there is nothing at all; that is never taken for a folder that became empty.
        UnsupportedTable: folders name different columns, or Spark could not read a name.
    """
    scheme = folder.partition(":")[0].lower() if ":" in folder else "file"
    try:
        found = _on_disk(_local(folder)) if scheme == "file" else _in_bucket(lake, folder)
        files = {file.path: file for file in found}
    except FileNotFoundError as error:
        raise SourceMissing(
            f"there is no folder {folder}. If it should be there, check that its disk is mounted; if it moved, correct "
            f"the path. What was captured before stays as it is"
        ) from error
    except OSError as error:
        cause = (error.strerror or str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        what = f"the folder {folder} cannot be listed: {cause}. Check the address and the rights"
        raise WarehouseUnavailable(what) from error
    _check_columns(files)
    return dict(sorted(files.items()))


def identity_of(status: os.stat_result) -> str:
    """What a file on a disk is known by."""
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}-{status.st_ino}"


def _local(folder: str) -> str:
    return spark_path(folder) if folder.startswith("file:") else folder


def _on_disk(folder: str) -> Iterator[ListedFile]:
    status = os.stat(folder)
    if os.path.isdir(folder):
        yield from _walk(folder, (), (os.path.realpath(folder),))
    else:
        yield _file_on_disk(folder, status, ())


def _walk(folder: str, partition: tuple[tuple[str, str | None], ...], around: tuple[str, ...]) -> Iterator[ListedFile]:
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    for entry in inside:
        if _is_hidden(entry.name):
            continue
        try:
            status = entry.stat()
        except FileNotFoundError:
            continue  # it went while we looked, or is a link to nowhere
        if not entry.is_dir():
            yield _file_on_disk(entry.path, status, partition)
            continue
        real = os.path.realpath(entry.path)
        if real in around:
            raise UnsupportedTable(f"the link {entry.path} leads back into the folder that holds it. Remove it")
        yield from _walk(entry.path, (*partition, *_named(entry.name)), (*around, real))


def _file_on_disk(path: str, status: os.stat_result, partition: tuple[tuple[str, str | None], ...]) -> ListedFile:
    if ":" in path:
        raise UnsupportedTable(f"the path {path} has a colon in it, which Spark cannot read. Rename it")
    return ListedFile(path, path, identity_of(status), status.st_size, status.st_mtime, partition)


def _in_bucket(lake: Lakehouse, folder: str) -> Iterator[ListedFile]:
    io = lake.io({}, folder)
    filesystem, root = resolve(io, folder)
    head = folder[: len(folder) - len(root)] if folder.endswith(root) else f"{folder.partition('://')[0]}://"
    self_info: Any = filesystem.get_file_info(root)
    if self_info.type == FileType.NotFound:
        raise FileNotFoundError(folder)
    infos: list[Any] = (
        [self_info] if self_info.type == FileType.File else filesystem.get_file_info(FileSelector(root, recursive=True))
    )
    for info in infos:
        *folders, name = info.path.removeprefix(root).strip("/").split("/")
        if info.type != FileType.File or any(_is_hidden(part) for part in (*folders, name)):
            continue
        location = head + info.path
        partition = tuple(pair for part in folders for pair in _named(part))
        seconds = (info.mtime_ns or 0) / 1e9
        yield ListedFile(spark_path(location), location, f"{info.size}-{info.mtime_ns}", info.size, seconds, partition)


def _is_hidden(name: str) -> bool:
    """Whether Spark passes over a file or folder of that name."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _named(folder: str) -> tuple[tuple[str, str | None], ...]:
    """The column that a folder's name gives, if it does: ``day=2026-01-31``."""
    name, sign, value = folder.partition("=")
    if not sign or not name:
        return ()
    return ((unquote(name), None if value == _NULL else unquote(value)),)


def _check_columns(files: dict[str, ListedFile]) -> None:
    first: ListedFile | None = None
    for file in files.values():
        first = first or file
        ours, theirs = ([name for name, _ in one.partition] for one in (first, file))
        if ours != theirs:
            raise UnsupportedTable(
                f"the folders of {first.path} name the columns ({', '.join(ours)}), and those of {file.path} "
                f"({', '.join(theirs)}). All files must lie in folders of the same names, as day=…/hour=…"
            )
