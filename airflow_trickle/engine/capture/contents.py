"""What files a source has at one moment, and whether they are still the same later."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_trickle import clock
from airflow_trickle.engine.capture.secrets import Options
from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.listing import ListedFile, list_folder
from airflow_trickle.plan.captures import DELTA, FILE_FORMATS
from airflow_trickle.plan.steps import CaptureStep
from airflow_trickle.tuning import tuning


class SourceMoved(TrickleError):
    """The source was changed while it was read: read it again."""


@dataclass(frozen=True)
class Contents:
    """The files of a source; ``columns`` and ``deleted`` (positions of rows by path) where a log tells them."""

    files: dict[str, ListedFile]
    columns: dict[str, Any] | None = None
    deleted: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Changes whenever any file may have changed."""
        known = hashlib.sha256()
        for path, file in sorted(self.files.items()):
            known.update(f"{path}\0{file.identity}\0".encode("utf-8", "surrogateescape"))
        return known.hexdigest()

    @property
    def partition(self) -> tuple[str, ...]:
        """The columns that stand in the names of folders."""
        return next((tuple(name for name, _ in file.partition) for file in self.files.values()), ())


def has_files(step: CaptureStep) -> bool:
    """Whether the files of a source can be listed, so that it is known without Spark whether anything changed."""
    return step.format in (*FILE_FORMATS, DELTA)


def contents_of(lake: Lakehouse, step: CaptureStep, options: Options) -> Contents:
    """The files of a source as they are now."""
    assert step.path is not None  # noqa: S101 - a definition with such a format has one
    if step.format == DELTA:
        from airflow_trickle.engine.capture.delta_lake import delta_contents

        return delta_contents(step, options)
    return Contents(list_folder(lake, step.path))


def settled(lake: Lakehouse, step: CaptureStep, files: Iterable[ListedFile]) -> None:
    """Wait until files that were written just now have an age by which a further change can be told.

    Raises:
        SourceMoved: one was changed meanwhile.
    """
    files = list(files)
    if step.format == DELTA:
        return  # files of a Delta table are never written twice
    wait = tuning().file_settle_seconds
    if any(file.modified > clock.now().timestamp() - wait for file in files):
        time.sleep(wait)
        unchanged(lake, step, files)


def unchanged(lake: Lakehouse, step: CaptureStep, files: Iterable[ListedFile]) -> None:
    """Raises `SourceMoved` if a file is not what it was when it was listed."""
    if step.format == DELTA:
        return
    assert step.path is not None  # noqa: S101 - it has files
    now = list_folder(lake, step.path)
    for file in files:
        found = now.get(file.path)
        if found is None or found.identity != file.identity:
            raise SourceMoved(f"the file {file.path} was {'removed' if found is None else 'changed'} while it was read")
