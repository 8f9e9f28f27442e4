"""Deletion vectors of format version 3, which pyiceberg reads but does not write."""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestListWriterV2,
    ManifestWriterV2,
)
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyroaring import BitMap

from airflow_trickle.lakehouse.files import spark_path

MAGIC = b"\xd1\xd3\x39\x64"


def vector(rows: Sequence[int]) -> bytes:
    """The blob of one deletion vector."""
    halves: dict[int, list[int]] = {}
    for row in rows:
        halves.setdefault(row >> 32, []).append(row & 0xFFFFFFFF)
    maps = b"".join(struct.pack("<I", key) + BitMap(low).serialize() for key, low in sorted(halves.items()))
    inner = MAGIC + struct.pack("<q", len(halves)) + maps
    return struct.pack(">i", len(inner)) + inner + struct.pack(">I", zlib.crc32(inner))


def puffin(table: Table, vectors: Mapping[str, Sequence[int]]) -> tuple[str, list[DataFile]]:
    """One Puffin file with a vector per data file, and the entries that list them."""
    path = f"{table.location()}/data/{uuid.uuid4().hex}.puffin"
    content, blobs, places = b"PFA1", [], {}
    for target, rows in vectors.items():
        blob = vector(rows)
        places[target] = (len(content), len(blob))
        about = {"referenced-data-file": target, "cardinality": str(len(rows))}
        blobs.append(
            {
                "type": "deletion-vector-v1",
                "fields": [2147483645],
                "snapshot-id": -1,
                "sequence-number": -1,
                "offset": len(content),
                "length": len(blob),
                "properties": about,
            }
        )
        content += blob
    footer = json.dumps({"blobs": blobs, "properties": {}}).encode()
    content += b"PFA1" + footer + struct.pack("<i", len(footer)) + b"\0\0\0\0" + b"PFA1"
    Path(spark_path(path)).write_bytes(content)
    return path, [_entry_of(path, len(content), target, places[target], vectors[target]) for target in vectors]


def _entry_of(path: str, size: int, target: str, place: tuple[int, int], rows: Sequence[int]) -> DataFile:
    file = DataFile.from_args(
        _table_format_version=3,
        content=DataFileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PUFFIN,
        partition=Record(),
        record_count=len(rows),
        file_size_in_bytes=size,
        referenced_data_file=target,
        content_offset=place[0],
        content_size_in_bytes=place[1],
    )
    file.spec_id = 0
    return file


class _VectorManifest(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def version(self) -> Any:
        return 3

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        schema = self._with_partition(3)
        return AvroOutputFile(self._output_file, schema, "manifest_entry", schema, self._meta)


class _ListOfVersion3(ManifestListWriterV2):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._format_version = 3
        self._meta["format-version"] = "3"


def commit_vectors(catalog: Catalog, table: Table, entries: Sequence[DataFile]) -> Table:
    """The table in format version 3 with one more snapshot, which adds these to its delete files."""
    said = json.loads(table.metadata.model_dump_json())
    number, sequence = uuid.uuid4().int >> 66, said["last-sequence-number"] + 1
    current = table.current_snapshot()
    assert current is not None
    manifest = _write_manifest(table, entries, number)
    folder = f"{table.location()}/metadata"
    place = f"{folder}/snap-{number}.avro"
    output = table.io.new_output(place)
    with _ListOfVersion3(output, number, current.snapshot_id, sequence, "null") as writer:
        writer.add_manifests([*current.manifests(table.io), manifest])
    for snapshot in said["snapshots"]:
        snapshot.setdefault("first-row-id", 0)
        snapshot.setdefault("added-rows", 0)
    added = {**said["snapshots"][-1], "snapshot-id": number, "parent-snapshot-id": current.snapshot_id}
    added |= {"sequence-number": sequence, "manifest-list": place, "timestamp-ms": said["last-updated-ms"] + 1}
    said["snapshots"].append(added | {"summary": {"operation": "delete"}})
    said |= {"format-version": 3, "next-row-id": 1000, "last-sequence-number": sequence, "current-snapshot-id": number}
    said["last-updated-ms"] = added["timestamp-ms"]
    said["refs"]["main"]["snapshot-id"] = number
    said["snapshot-log"].append({"snapshot-id": number, "timestamp-ms": added["timestamp-ms"]})
    location = f"{folder}/{sequence:05d}-{uuid.uuid4()}.metadata.json"
    Path(spark_path(location)).write_text(json.dumps(said))
    catalog.drop_table(table.name())
    return catalog.register_table(table.name(), location)


def _write_manifest(table: Table, entries: Sequence[DataFile], number: int) -> ManifestFile:
    output = table.io.new_output(f"{table.location()}/metadata/{uuid.uuid4()}-m0.avro")
    with _VectorManifest(table.spec(), table.schema(), output, number, "null") as writer:
        for file in entries:
            writer.add(
                ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=number, data_file=file),
            )
    return writer.to_manifest_file()
