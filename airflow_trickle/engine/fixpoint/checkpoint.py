"""What a killed refresh of a cycle leaves for its retry: the rows found so far, written down now and then.

A checkpoint holds only what came and went since the refresh began, and each part of it is written once, so that it
costs as much as its rows. It is good for one state of the inputs, of the queries and of the published tables; for any
other it is removed like everything that a dead process leaves.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from airflow_trickle.engine.fixpoint.decide import UnitDecision
from airflow_trickle.engine.fixpoint.unit import UnitRun
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.files import delete_folder, exists, list_files, make_durable, spark_path
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.results import Iteration

#: So long a refresh may go on until it writes down how far it is; 0: after every pass.
SECONDS = "TRICKLE_CHECKPOINT_SECONDS"
_DEFAULT_SECONDS = 10.0
_FOLDER = "_trickle_checkpoints"


@dataclass(frozen=True)
class Found:
    """How far an earlier attempt came.

    Attributes:
        kind: By which way it was on.
        state: What else that way needs to go on, by its own words.
        files: By member and kind of rows: the files.
        trace: The passes so far.
    """

    kind: str
    state: Mapping[str, Any]
    files: Mapping[str, Mapping[str, tuple[str, ...]]]
    trace: tuple[Iteration, ...]


class SubmissionOver(BaseException):
    """This submission has made its passes; the next one goes on from what was written down.

    Not an `Exception`, since it is not a failure: nobody on its way may take it for one and record it in the history.
    """


@dataclass
class Checkpoint:
    """Where one refresh writes down how far it is."""

    run: UnitRun
    lease: Lease
    #: What it is good for.
    fits: str
    #: How many passes this submission has made.
    passes: int = 0
    staging: Staging | None = None
    found: Found | None = None
    _files: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    @property
    def adopted(self) -> str | None:
        """The id of what an earlier attempt has staged, if it is gone on with."""
        return self.staging.staging_id if self.staging is not None else None

    @property
    def _is_over(self) -> bool:
        """Whether this submission has made all its passes."""
        most = self.run.step.passes_per_submission
        return most is not None and self.passes >= most

    @property
    def is_due(self) -> bool:
        """Whether it is time to write."""
        return self._is_over or time.monotonic() - self._since >= float(os.environ.get(SECONDS, _DEFAULT_SECONDS))

    @property
    def io(self) -> FileIO:
        """How files are written."""
        return self.run.lake.io({}, self._begun.table_location)

    @property
    def _begun(self) -> Staging:
        if self.staging is None:
            warehouse = str(self.run.lake.catalog.properties.get("warehouse", "")).rstrip("/")
            self.staging = stagings.begin(
                self.run.lake,
                lease=self.lease,
                table_location=f"{warehouse}/{_FOLDER}/{self.lease.identifier}",
                pipeline=self.run.tick.pipeline,
                tick_id=self.run.tick.tick_id,
                spark=self.run.spark.session_id,
                new_table=False,
            )
        return self.staging

    def add(self, member: str, kind: str, rows: pa.Table | Any) -> None:
        """Write rows of a member, from this process or as a frame of Spark; they count with the next `note`."""
        folder, io = self._begun.kept_folder, self.io
        number = sum(len(files) for kinds in self._files.values() for files in kinds.values())
        # An attempt that was killed may have left one of the same number.
        location = f"{folder}/{number:05d}-{uuid.uuid4().hex[:8]}"
        if isinstance(rows, pa.Table):
            files = [f"{location}.parquet"]
            with io.new_output(files[0]).create(overwrite=True) as stream:
                pq.write_table(rows, stream, compression="zstd", store_decimal_as_integer=True)
        else:
            rows.write.mode("overwrite").option("compression", "zstd").parquet(spark_path(location))
            files = [path for path in list_files(io, location) if path.endswith(".parquet")]
        make_durable(io, files)
        self._files.setdefault(member, {}).setdefault(kind, []).extend(files)

    def begin(self, kind: str) -> Found | None:
        """What an earlier attempt has left that went the same way; whatever is written from now on adds to that."""
        found = self.found if self.found is not None and self.found.kind == kind else None
        self._files = {m: {k: list(f) for k, f in kinds.items()} for m, kinds in found.files.items()} if found else {}
        return found

    def forget(self, member: str) -> None:
        """What was written of a member does not count any more."""
        self._files.pop(member, None)

    def note(self, kind: str, state: Mapping[str, Any], trace: list[Iteration]) -> None:
        """Say how far it is: one small file, which replaces the one before at once.

        Raises:
            SubmissionOver: this submission ends here.
        """
        said = {
            "fits": self.fits,
            "kind": kind,
            "state": state,
            "files": self._files,
            "trace": [one.model_dump() for one in trace],
        }
        location = f"{self._begun.kept_folder}/{time.time_ns():020d}.json"
        with self.io.new_output(location).create(overwrite=True) as stream:
            stream.write(json.dumps(said).encode())
        make_durable(self.io, [location])
        self._since = time.monotonic()
        if self._is_over:
            raise SubmissionOver

    def discard(self) -> None:
        """Remove it: nobody will go on from here."""
        if self.staging is not None:
            stagings.discard(self.run.lake, self.staging)
            delete_folder(self.io, self.staging.table_location)


def open_checkpoint(
    run: UnitRun, decision: UnitDecision, leases: Mapping[str, Lease], interrupt: Callable[[str], object]
) -> Checkpoint:
    """The checkpoint of a refresh; with what an earlier attempt left, if that fits.

    ``interrupt`` gets the Spark session of that attempt: its last query may still run.
    """
    name = next(iter(run.tables))
    point = Checkpoint(run, leases[name], _fits(run, decision))
    for record in stagings.leftovers(run.lake, identifier=name):
        found = _read(run, record, point.fits) if f"/{_FOLDER}/" in record.table_location else None
        if found is not None:
            if record.spark:
                interrupt(record.spark)
            stagings.adopt(run.lake, leases[name], record, run.spark.session_id)
            point.staging, point.found = record, found
    return point


def _fits(run: UnitRun, decision: UnitDecision) -> str:
    """What a refresh starts from and where it goes to."""
    return json.dumps(
        {
            name: [
                run.tables[name].step.definition,
                one.target.as_json(),
                one.published.version.snapshot_id if one.published is not None else None,
                one.published.frontier.as_json() if one.published and one.published.frontier else None,
                decision.from_changes,
            ]
            for name, one in sorted(decision.tables.items())
        },
        sort_keys=True,
    )


def _read(run: UnitRun, record: Staging, fits: str) -> Found | None:
    io = run.lake.io({}, record.table_location)
    if not exists(io, record.kept_folder):
        return None
    notes = sorted(path for path in list_files(io, record.kept_folder) if path.endswith(".json"))
    if not notes:
        return None
    with io.new_input(notes[-1]).open() as stream:
        said = json.loads(stream.read())
    if said["fits"] != fits:
        return None
    files = {m: {k: tuple(f) for k, f in kinds.items()} for m, kinds in said["files"].items()}
    every = [file for kinds in files.values() for some in kinds.values() for file in some]
    if not all(exists(io, file) for file in every):
        return None
    return Found(said["kind"], said["state"], files, tuple(Iteration(**one) for one in said["trace"]))
