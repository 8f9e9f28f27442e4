"""pyiceberg's snapshot producers, trimmed for tables that get a snapshot every few seconds.

Pinned to one version of pyiceberg; ``tests/lakehouse/test_commit.py`` holds the seam.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyiceberg.manifest import (
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.table import CreateTableTransaction, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update import TableUpdate, update_table_metadata
from pyiceberg.table.update.snapshot import _ManifestMergeManager, _MergeAppendFiles, _OverwriteFiles
from pyiceberg.typedef import EMPTY_DICT

from airflow_trickle.lakehouse.deletes import DeleteKind
from airflow_trickle.lakehouse.positions import named_files
from airflow_trickle.lakehouse.snapshots import files_of

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
    """A snapshot that adds and removes files, and drops what no longer lists or reaches a live file."""

    #: Position delete files that come with the snapshot.
    added_deletes: Sequence[DataFile] = ()
    _dropped_deletes: Sequence[DataFile] = ()

    def _build_delete_files_partition_predicate(self) -> None:
        """Nothing: files to remove are known by their paths."""

    def _build_manifest_evaluator(self, spec_id: int) -> Callable[[ManifestFile], bool]:
        """Look into every manifest: their number is kept small, and a partition overlooked would be a row twice."""
        return lambda _manifest: True

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
        return merger.merge_manifests(data) + self._delete_manifests(other)

    def _delete_manifests(self, before: list[ManifestFile]) -> list[ManifestFile]:
        """The manifests of delete files: what came is added, what has nothing left to delete is dropped."""
        entries = [_entry(ManifestEntryStatus.ADDED, file, self._snapshot_id) for file in self.added_deletes]
        kept: list[ManifestFile] = []
        merge = len(before) >= _MANIFESTS_KEPT
        used = self._used_deletes() if before and self._deleted_data_files else None
        for manifest in before:
            if used is None and not merge:
                kept.append(manifest)
                continue
            listed = manifest.fetch_manifest_entry(self._io, discard_deleted=True)
            dropped = [
                entry.data_file for entry in listed if used is not None and entry.data_file.file_path not in used
            ]
            if not dropped and not merge:
                kept.append(manifest)
                continue
            self._dropped_deletes = [*self._dropped_deletes, *dropped]
            entries += [self._moved(entry, deleted=entry.data_file in set(dropped)) for entry in listed]
        specs = sorted({entry.data_file.spec_id for entry in entries})
        return [self._write([e for e in entries if e.data_file.spec_id == spec], spec) for spec in specs] + kept

    def _moved(self, entry: ManifestEntry, *, deleted: bool) -> ManifestEntry:
        """An entry of an older manifest as a new one lists it."""
        if deleted:
            return _entry(ManifestEntryStatus.DELETED, entry.data_file, self._snapshot_id, entry)
        return _entry(ManifestEntryStatus.EXISTING, entry.data_file, entry.snapshot_id, entry)

    def _used_deletes(self) -> set[str]:
        """The delete files that still take rows from a file that stays; new files are too young for any of them."""
        removed = {file.file_path for file in self._deleted_data_files}
        used: set[str] = set()
        for path, file in files_of(self._transaction._table, self._parent_snapshot_id).items():
            if path not in removed:
                used |= {
                    delete.path
                    for delete in file.deletes
                    if delete.path not in used
                    and (delete.kind is not DeleteKind.POSITION or path in named_files(self._io, delete))
                }
        return used

    def _write(self, entries: list[ManifestEntry], spec_id: int) -> ManifestFile:
        place = self.new_manifest_output()
        with _DeletesWriter(self.spec(spec_id), self.schema(), place, self._snapshot_id, self._compression) as writer:
            for entry in entries:
                writer.add_entry(entry)
        return writer.to_manifest_file()

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        """What pyiceberg says of the data files, and the same of the delete files."""
        data = self._added_data_files, self._deleted_data_files
        self._added_data_files = [*data[0], *self.added_deletes]
        self._deleted_data_files = {*data[1], *self._dropped_deletes}
        try:
            return super()._summary(snapshot_properties)
        finally:
            self._added_data_files, self._deleted_data_files = data


class CompactionProducer(ReplaceProducer):
    """A snapshot with the rows of the one before in other files; what the format calls ``replace``."""

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        """As of an overwrite, which pyiceberg knows how to add up."""
        counted = super()._summary(snapshot_properties)
        return Summary(operation=Operation.REPLACE, **counted.additional_properties)


class _DeletesWriter(ManifestWriterV2):
    """A manifest that lists delete files; pyiceberg writes those of data files only."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def _entry(
    status: ManifestEntryStatus, file: DataFile, snapshot_id: int | None, known: ManifestEntry | None = None
) -> ManifestEntry:
    """A manifest entry; one that is not new keeps its sequence numbers, which say what it deletes from."""
    return ManifestEntry.from_args(
        status=status,
        snapshot_id=snapshot_id,
        sequence_number=known.sequence_number if known else None,
        file_sequence_number=known.file_sequence_number if known else None,
        data_file=file,
    )
