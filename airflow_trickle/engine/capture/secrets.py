"""Options with the values that they refer to, which nobody but Spark gets to see."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from airflow_trickle.errors import SettingsError
from airflow_trickle.plan.captures import REFERENCE
from airflow_trickle.plan.steps import CaptureStep


@dataclass(frozen=True)
class Options:
    """Options for Spark's reader, and the values in them that must not be shown."""

    #: Not in the repr, so that no traceback shows them.
    values: dict[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def masked(self, text: str) -> str:
        """A text without the secrets."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def get(self, key: str) -> str | None:
        """An option, whatever the case of its name."""
        return next((value for name, value in self.values.items() if name.lower() == key.lower()), None)


def resolved(step: CaptureStep) -> Options:
    """The options of a source with ``${NAME}`` replaced by environment variables.

    Raises:
        SettingsError: a variable is not set here.
    """
    names = sorted({name for text in step.options.values() for name in REFERENCE.findall(text)})
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise SettingsError(
            f"{step.declared_at}: source '{step.name}': its options refer to the environment variable "
            f"{', '.join(missing)}, which is not set here. Set it where the tick runs: on Airflow's workers, or in the "
            f"shell of `trickle run`."
        )
    values = {key: REFERENCE.sub(lambda found: os.environ[found[1]], text) for key, text in step.options.items()}
    return Options(values, tuple(os.environ[name] for name in names))
