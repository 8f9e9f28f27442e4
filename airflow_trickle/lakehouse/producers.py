"""pyiceberg's snapshot producers, trimmed for tables that get a snapshot every few seconds.

Pinned to one version of pyiceberg; ``tests/lakehouse/test_commit.py`` holds the seam.
"""

from __future__ import annotations

from pyiceberg.manifest import ManifestContent, ManifestFile
from pyiceberg.table import CreateTableTransaction, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate, update_table_metadata
from pyiceberg.table.update.snapshot import _ManifestMergeManager, _MergeAppendFiles, _OverwriteFiles

#: So many manifests may stand side by side before they are merged.
_MANIFESTS_KEPT = 20
_MANIFEST_BYTES = 8 * 1024 * 1024


class _CachedMetadata:
    """A transaction that works out its metadata once per change, not at every look.

    pyiceberg copies the whole metadata, all snapshots included, some twenty times per commit.
    """

    _known: tuple[tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        updates: tuple[TableUpdate, ...] = self._updates  # type: ignore[attr-defined]
        if not updates:
            return self._table.metadata  # type: ignore[attr-defined,no-any-return]
        if self._known is None or self._known[0] is not updates:
            self._known = (updates, update_table_metadata(self._table.metadata, updates))  # type: ignore[attr-defined]
        return self._known[1]


class ChangeTransaction(_CachedMetadata, Transaction):
    """A change of an existing table."""


class CreationTransaction(_CachedMetadata, CreateTableTransaction):
    """The creation of a table together with its first snapshot."""


class AppendProducer(_MergeAppendFiles):
    """A snapshot that only adds files."""


class ReplaceProducer(_OverwriteFiles):
    """A snapshot that adds and removes files, and drops manifests that no longer list a live file."""

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        kept = [
            manifest
            for manifest in manifests
            if manifest.has_added_files()
            or manifest.has_existing_files()
            or manifest.added_snapshot_id == self._snapshot_id
        ]
        data = [manifest for manifest in kept if manifest.content == ManifestContent.DATA]
        other = [manifest for manifest in kept if manifest.content != ManifestContent.DATA]
        merger = _ManifestMergeManager(
            target_size_bytes=_MANIFEST_BYTES,
            min_count_to_merge=_MANIFESTS_KEPT,
            merge_enabled=True,
            snapshot_producer=self,
        )
        return merger.merge_manifests(data) + other
