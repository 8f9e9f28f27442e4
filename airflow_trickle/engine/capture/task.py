"""What the ways to capture a source have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from airflow_trickle.engine.capture.mirror import Mirror
from airflow_trickle.engine.capture.secrets import Options
from airflow_trickle.engine.capture.state import CaptureState
from airflow_trickle.engine.write import Written
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import Target
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.plan.steps import CaptureStep
from airflow_trickle.results import Mode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Subject:
    """A source and its mirror, as they were found."""

    lake: Lakehouse
    step: CaptureStep
    options: Options
    mirror: Mirror


@dataclass(frozen=True)
class Captured:
    """What a capture has written, and what it knows of the source now."""

    written: Written
    inserted: int
    deleted: int
    state: CaptureState
    mode: Mode
    rows_in: int | None = None


@dataclass(frozen=True)
class Prepared:
    """The mirror to write, and the columns that are read into it; ``rows``: how many are expected, if that is known."""

    target: Target
    state: CaptureState
    rows: int | None = None


class Task(Protocol):
    """A capture that has something to do, or cannot tell without reading."""

    @property
    def reason(self) -> str:
        """Why there is something to do."""

    @property
    def size(self) -> int:
        """About how many bytes are read."""

    @property
    def needs_spark(self) -> bool:
        """Whether any rows are read."""

    def prepare(self, session: SparkSession | None) -> Prepared:
        """Find the columns; nothing is written yet."""

    def write(self, session: SparkSession | None, prepared: Prepared, staging: Staging) -> Captured | None:
        """Write the files of the mirror's next state; None if it is the published one."""

    def check(self) -> None:
        """Raises `SourceMoved` if the source was changed while it was read, so far as that can be told."""
