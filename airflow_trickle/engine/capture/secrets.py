"""Options with the values that they refer to, which nobody but Spark gets to see."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from airflow_trickle.errors import SettingsError
from airflow_trickle.plan.captures import CONNECTION, REFERENCE
from airflow_trickle.plan.steps import CaptureStep

#: From the id of an Airflow connection to its fields (host, port, login, password, schema); None if there is none.
Connections = Callable[[str], Mapping[str, str] | None]


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


def connections_in_environment(conn_id: str) -> Mapping[str, str] | None:
    """Outside Airflow: a connection from ``AIRFLOW_CONN_<ID>``, in either of its forms."""
    text = os.environ.get(f"AIRFLOW_CONN_{conn_id.upper()}", "").strip()
    if not text:
        return None
    try:
        found = json.loads(text) if text.startswith("{") else _from_uri(text)
    except ValueError:
        # The text may hold a password: it is not repeated, and neither is the parser's message.
        raise SettingsError(f"The environment variable AIRFLOW_CONN_{conn_id.upper()} is not a connection.") from None
    return {key: str(value) for key, value in found.items() if value not in (None, "")}


def _from_uri(text: str) -> dict[str, str | int | None]:
    parts = urlsplit(text)
    return {
        "host": unquote(parts.hostname or ""),
        "port": parts.port,
        "login": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "schema": unquote(parts.path.strip("/")),
    }


def resolved(step: CaptureStep, connections: Connections = connections_in_environment) -> Options:
    """The options of a source with each reference replaced by what it stands for.

    Raises:
        SettingsError: a variable is not set here, or a connection lacks the field.
    """
    names = sorted({name for text in step.options.values() for name in REFERENCE.findall(text)})
    values = {name: _value(name, step, connections) for name in names}
    options = {key: REFERENCE.sub(lambda found: values[found[1]], text) for key, text in step.options.items()}
    # Any variable may be a secret; of a connection the password is.
    secrets = (value for name, value in values.items() if "." not in name or name.endswith(".password"))
    return Options(options, tuple(secrets))


def _value(name: str, step: CaptureStep, connections: Connections) -> str:
    whose = f"{step.declared_at}: source '{step.name}': its options refer to"
    if (found := CONNECTION.fullmatch(name)) is None:
        if value := os.environ.get(name):
            return value
        raise SettingsError(
            f"{whose} the environment variable {name}, which is not set here. Set it where the tick runs: on Airflow's "
            f"workers, or in the shell of `trickle run`."
        )
    conn_id, key = found.groups()
    fields = connections(conn_id)
    if fields is None:
        raise SettingsError(
            f"{whose} the Airflow connection '{conn_id}', which is not there. Add it, or, outside Airflow, set "
            f"AIRFLOW_CONN_{conn_id.upper()}."
        )
    if not fields.get(key):
        raise SettingsError(f"{whose} the {key} of the Airflow connection '{conn_id}', which is empty. Fill it in.")
    return fields[key]
