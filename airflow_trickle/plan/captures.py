"""The steps of captured sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection

from airflow_trickle.definition.records import CaptureDef, PipelineDef
from airflow_trickle.definition.source_model import DELTA, FILE_FORMATS
from airflow_trickle.definition.source_options import CONNECTION, REFERENCE
from airflow_trickle.plan.steps import CaptureStep

__all__ = ["CONNECTION", "DELTA", "FILE_FORMATS", "REFERENCE", "capture_steps", "definition_of", "described"]


def capture_steps(pipeline: PipelineDef, read: Collection[str]) -> tuple[CaptureStep, ...]:
    """The captured sources of a pipeline among the tables that it reads, by name; one per mirror."""
    found: dict[str, CaptureStep] = {}
    for source in sorted(pipeline.sources, key=lambda source: source.name):
        if source.capture is None or source.identifier not in read:
            continue
        how = source.capture
        found.setdefault(
            source.identifier,
            CaptureStep(
                name=source.name,
                identifier=source.identifier,
                pipeline=pipeline.name,
                format=how.format,
                method=how.method,
                path=how.path,
                options=dict(how.options),
                columns=how.columns,
                watermark=how.watermark,
                definition=definition_of(how),
                declared_at=str(source.at),
                description=source.description,
            ),
        )
    return tuple(found.values())


def definition_of(how: CaptureDef) -> str:
    """A fingerprint of what is read and how; options count as written, so a new password changes nothing.

    >>> definition_of(CaptureDef("csv", "files", "/a")) == definition_of(CaptureDef("csv", "files", "/b"))
    False
    """
    columns = " ".join(how.columns.split()) if how.columns else None
    said = [how.format, how.method, how.path, list(how.options), columns, how.watermark]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def described(step: CaptureStep) -> str:
    """What is captured and how, in words without any option's value."""
    where = f" in {step.path}" if step.path else ""
    how = {
        "files": f"{step.format} table" if step.format == "delta" else f"{step.format} files",
        "snapshot": f"{step.format}, compared row by row",
        "append_only": f"{step.format}, rows from the last {step.watermark} on",
    }[step.method]
    return f"{how}{where}"
