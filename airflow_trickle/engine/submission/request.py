"""What an application is asked to do, as JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import airflow_trickle
from airflow_trickle.errors import SettingsError
from airflow_trickle.plan.steps import CaptureStep, RefreshStep
from airflow_trickle.tick import Tick


@dataclass(frozen=True)
class RefreshRequest:
    """Refresh a unit at a tick.

    Attributes:
        step: The unit.
        tick: What is read.
        full_refresh: Whether it is computed anew, also if nothing changed.
        settings: What the connection wants otherwise than by default, of what decides the meaning of a query.
        member: Of an atomic group: the member to stage; None: publish the group.
    """

    step: RefreshStep
    tick: Tick
    full_refresh: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    member: str | None = None

    @property
    def tick_id(self) -> str:
        """The tick it belongs to."""
        return self.tick.tick_id

    @property
    def unit(self) -> str:
        """What is worked on."""
        return self.member or self.step.unit

    def as_json(self) -> str:
        """The request as text for a state table."""
        tick = self.tick.model_dump(mode="json")
        more = {"tick": tick, "full_refresh": self.full_refresh, "member": self.member}
        return _text("refresh", self.step, self.settings, **more)


@dataclass(frozen=True)
class CaptureRequest:
    """Capture a source for a tick; ``settings`` as in a `RefreshRequest`."""

    step: CaptureStep
    tick_id: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """What is worked on: not to be mistaken for a stream table of the same name."""
        return f"capture {self.step.name}"

    def as_json(self) -> str:
        """The request as text for a state table; secrets are in it as references only."""
        return _text("capture", self.step, self.settings, tick_id=self.tick_id)


Request = RefreshRequest | CaptureRequest


def _text(kind: str, step: RefreshStep | CaptureStep, settings: Mapping[str, str], **more: Any) -> str:
    return json.dumps(
        {
            "version": airflow_trickle.__version__,
            "kind": kind,
            "step": step.model_dump(mode="json"),
            "settings": dict(settings),
            **more,
        }
    )


def request_of(text: str) -> Request:
    """The request that ``as_json`` wrote.

    Raises:
        SettingsError: another version of airflow-trickle wrote it.
    """
    said = json.loads(text)
    if said["version"] != airflow_trickle.__version__:
        raise SettingsError(
            f"The driver has airflow-trickle {airflow_trickle.__version__}, but the Airflow worker that submitted it "
            f"has {said['version']}. Install the same version on both."
        )
    if said["kind"] == "capture":
        return CaptureRequest(CaptureStep.model_validate(said["step"]), said["tick_id"], said["settings"])
    step, tick = RefreshStep.model_validate(said["step"]), Tick.model_validate(said["tick"])
    return RefreshRequest(step, tick, said["full_refresh"], said["settings"], said["member"])
