"""Files in the folder of a table that nobody names: what a killed process, or a deletion that failed, left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyiceberg.table import Table

from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.files import found_in, place_of, remove_empty_folders
from airflow_trickle.lakehouse.maintenance.expiry import Removed, remove
from airflow_trickle.lakehouse.maintenance.reachable import named_files, own_folder

#: Only what is made like this is ours to remove.
_FOLDERS = ("data/", "metadata/")


@dataclass(frozen=True)
class Orphans:
    """Files that nobody names, with their sizes, and folders with nothing in them."""

    files: dict[str, int]
    folders: tuple[str, ...] = ()

    @property
    def removed(self) -> Removed:
        """How much they are."""
        return Removed(len(self.files), sum(self.files.values()))


def find_orphans(
    lake: Lakehouse, identifier: str, look: Callable[[], Table | None], *, older_than: float, now: float
) -> Orphans:
    """The orphans of a table that have not been touched for some seconds.

    ``look`` gives the table; it is called after the folder was listed, so that what was published in between counts as
    named.
    """
    table = look()
    if table is None:
        return Orphans({})
    own = own_folder(table)
    listed = found_in(table.io, own)
    table = look()
    if table is None or own_folder(table) != own:
        return Orphans({})
    named = named_files(lake, identifier, table)
    files, folders, filled = {}, [], set()
    for one in listed:
        if not one.location.removeprefix(own).startswith(_FOLDERS):
            continue
        old = one.modified is not None and now - one.modified > older_than
        if one.is_folder:
            if old and place_of(table.io, one.location) not in named:
                folders.append(one.location)
        elif old and place_of(table.io, one.location) not in named:
            files[one.location] = one.size
        else:
            filled.add(one.location)
    empty = [folder for folder in folders if not any(path.startswith(f"{folder}/") for path in filled)]
    return Orphans(files, tuple(empty))


def remove_orphans(table: Table, orphans: Orphans) -> Removed:
    """Delete them."""
    removed = remove(table, orphans.files)
    remove_empty_folders(table.io, orphans.folders, f"{own_folder(table)}data")
    return removed
