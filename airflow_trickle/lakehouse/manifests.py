"""Manifests and lists of manifests that were read, kept up to a number of bytes: such files never change.

A small refresh looks into the same few of them about twenty times: to decide, to find changes, to open inputs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from cachetools import LRUCache
from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntry, ManifestFile
from pyiceberg.table.snapshots import Snapshot

from airflow_trickle.tuning import tuning

#: What one manifest takes in a list of them, about.
_BYTES_IN_A_LIST = 300
_Item = TypeVar("_Item")
#: What identifies a file: where it is and, of a manifest, how long it is and who wrote it.
_Key = tuple[str, int, int]


class _Kept:
    """What was used last, by its file. A caller that sets another bound gets an empty one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: LRUCache[_Key, tuple[Sequence[object], int]] = LRUCache(0)

    def get(
        self, key: _Key, read: Callable[[], Sequence[_Item]], size: Callable[[Sequence[_Item]], int]
    ) -> list[_Item]:
        """What a file lists; it is read if it is not known."""
        most = tuning().manifest_cache_bytes
        with self._lock:
            if self._found.maxsize != most:
                self._found = LRUCache(most, getsizeof=lambda found: found[1])
            found = self._found.get(key)
        if found is None:
            listed = read()
            found = (tuple(listed), size(listed))
            with self._lock:
                if found[1] <= self._found.maxsize:
                    self._found[key] = found
        return list(found[0])  # type: ignore[arg-type]


_KEPT = _Kept()


def manifests_in(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """The manifests of a snapshot."""
    key = (snapshot.manifest_list, 0, snapshot.snapshot_id)
    return _KEPT.get(key, lambda: snapshot.manifests(io), lambda listed: _BYTES_IN_A_LIST * (1 + len(listed)))


def live_entries(manifest: ManifestFile, io: FileIO) -> list[ManifestEntry]:
    """The entries of a manifest whose files are live. They are shared: nobody may change them."""
    length = manifest.manifest_length
    key = (manifest.manifest_path, length, manifest.added_snapshot_id or 0)
    return _KEPT.get(key, lambda: manifest.fetch_manifest_entry(io, discard_deleted=True), lambda _: length)
