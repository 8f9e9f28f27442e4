"""What a capture remembers: beside the mirror's metadata, and named by the snapshot that it describes.

So it is published by the same commit as the rows, and removed with the other files of a capture that died.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.table.snapshots import Snapshot

from airflow_trickle.lakehouse.files import make_durable, reported
from airflow_trickle.lakehouse.staging import Staging

#: Keys of a snapshot's summary.
DEFINITION = "trickle.capture-definition"
STATE = "trickle.capture-state"
EPOCH = "trickle.epoch"


@dataclass(frozen=True)
class KnownFile:
    """A file of the source that is captured: what it was known by, and which data files of the mirror hold its rows.

    The data files stand relative to the mirror's location.
    """

    identity: str
    data: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaptureState:
    """How far a source was captured."""

    #: The columns that are read, as the JSON of Spark's ``StructType``.
    columns: dict[str, Any]
    #: Of each column, what the first file calls its type; empty where the columns are declared.
    kinds: dict[str, str] = field(default_factory=dict)
    #: By path; only where files are compared.
    files: dict[str, KnownFile] = field(default_factory=dict)
    #: What the whole source was known by, if its files tell.
    fingerprint: str | None = None
    #: The greatest watermark that was captured, as text.
    watermark: str | None = None
    #: The settings of Spark that decide how text is read, such as the time zone; None: nobody wrote them down.
    settings: dict[str, str] | None = None


def write_state(io: FileIO, staging: Staging, state: CaptureState) -> str:
    """Write a state among the files of a staging; where it is."""
    # Not ".gz": Arrow would compress it once more.
    location = f"{staging.metadata_folder}/{staging.staging_id}-capture.json.zlib"
    with reported(location):
        with io.new_output(location).create(overwrite=True) as stream:
            stream.write(zlib.compress(json.dumps(asdict(state), sort_keys=True).encode()))
        make_durable(io, [location])
    return location


def read_state(io: FileIO, location: str) -> CaptureState | None:
    """The state that `write_state` wrote; None if it is gone or cannot be read."""
    try:
        with io.new_input(location).open() as stream:
            said = json.loads(zlib.decompress(stream.read()))
        files = {path: KnownFile(one["identity"], tuple(one["data"])) for path, one in said.pop("files").items()}
        return CaptureState(**said, files=files)
    except (OSError, ValueError, KeyError, TypeError, zlib.error):
        return None


def said_by(snapshot: Snapshot | None) -> dict[str, str]:
    """What a snapshot says of itself."""
    return dict(snapshot.summary.additional_properties) if snapshot is not None and snapshot.summary else {}
