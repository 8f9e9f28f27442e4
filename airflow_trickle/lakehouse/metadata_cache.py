"""Keeps table metadata that was read, up to a number of bytes: a table with many snapshots has a large one."""

from __future__ import annotations

import threading
from collections.abc import Callable

from cachetools import LRUCache
from pyiceberg.table.metadata import TableMetadata

from airflow_trickle.tuning import tuning


class MetadataCache:
    """The metadata that was used last, by the location of its file; such files never change.

    Args:
        read: Reads the metadata at a location; tells how many bytes its text has.
    """

    def __init__(self, read: Callable[[str], tuple[TableMetadata, int]]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._found: LRUCache[str, tuple[TableMetadata, int]] = LRUCache(
            tuning().metadata_cache_bytes, getsizeof=lambda found: found[1]
        )

    def get(self, location: str) -> TableMetadata:
        """The metadata at a location."""
        with self._lock:
            found = self._found.get(location)
        if found is None:
            found = self._read(location)
            with self._lock:
                if found[1] <= self._found.maxsize:
                    self._found[location] = found
        return found[0]

    @property
    def nbytes(self) -> int:
        """How many bytes of text the kept metadata has."""
        return int(self._found.currsize)
