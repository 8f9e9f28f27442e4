"""Which Spark to use: the embedded one, a Spark Connect server, or a cluster that applications are submitted to."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from airflow_trickle.errors import SettingsError
from airflow_trickle.spark.submit import is_master, master_of, submit_options

#: The connection that may be missing: Spark is embedded then.
DEFAULT_CONNECTION = "trickle_spark"
#: Spark Connect's own default port.
DEFAULT_PORT = 15002

_EMBEDDED = ("", "embedded", "local", "local[*]")
_SCHEME = "sc://"


@dataclass(frozen=True)
class SparkTarget:
    """Where Spark runs; ``url`` and ``conf`` may hold secrets and are never printed."""

    kind: Literal["embedded", "connect", "submit"] = "embedded"
    #: ``sc://host:port/;token=…`` for ``connect``, the master for ``submit``.
    url: str = field(default="", repr=False)
    #: Settings of the session, applied after our own; for ``submit``, of the application.
    conf: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    #: For ``submit``: what else the Apache Spark provider's hook is told, by the names of its arguments.
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def address(self) -> str:
        """``host:port`` of a Connect server, or a master, without anything secret.

        >>> target_from_url("sc://spark.example/;token=secret").address
        'spark.example:15002'
        """
        if self.kind == "embedded":
            return "the embedded server"
        if self.kind == "submit":
            return _shown(self.url)
        parts = _split(self.url)
        host = parts.hostname or ""
        return f"[{host}]:{parts.port}" if ":" in host else f"{host}:{parts.port}"

    def __str__(self) -> str:
        if self.kind == "submit":
            return f"spark-submit to {self.address}"
        return "embedded Spark" if self.kind == "embedded" else f"Spark Connect at {self.address}"


def target_from_url(url: str | None, conf: Iterable[tuple[str, str]] = ()) -> SparkTarget:
    """The target a user's address means; nothing and ``embedded`` mean the embedded server.

    >>> target_from_url(None)
    SparkTarget(kind='embedded')
    """
    text = (url or "").strip()
    pairs = tuple((str(key), str(value)) for key, value in conf)
    if text.lower() in _EMBEDDED:
        return SparkTarget(conf=pairs)
    if not text.lower().startswith(_SCHEME):
        raise _needs_submit(text)
    return SparkTarget("connect", _normalised(text), pairs)


def target_from_connection(
    *,
    conn_type: str = "",
    host: str | None = None,
    port: int | None = None,
    login: str | None = None,
    password: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> SparkTarget:
    """The target of an Airflow connection: user id in ``login``, token in ``password``.

    ``extra`` may have ``use_ssl`` and ``conf``, a mapping of Spark settings for the session. A master as host makes it
    a cluster to submit to; what ``extra`` may have then is in `submit_options`.
    """
    extra = extra or {}
    conf = extra.get("conf") or {}
    if not isinstance(conf, Mapping):
        raise SettingsError("The extra field 'conf' of a Spark connection must be a mapping of settings.")
    pairs = tuple((str(key), str(value)) for key, value in sorted(conf.items()))
    host = (host or "").strip()
    if host.lower() in _EMBEDDED and port is None:
        return SparkTarget(conf=pairs)
    if is_master(conn_type, host):
        master = master_of(conn_type, host, port, _shown(host))
        return SparkTarget("submit", master, pairs, submit_options(master, extra))
    if "://" not in host:
        host = _SCHEME + host
    given = {"user_id": login, "token": password, "use_ssl": _truth(extra.get("use_ssl"))}
    named = {key: value for key, value in given.items() if value}
    return SparkTarget("connect", _normalised(host, port, named), pairs)


def target_from_environment(conn_id: str, environ: Mapping[str, str] | None = None) -> SparkTarget:
    """Outside Airflow: ``TRICKLE_SPARK_URL``, else ``AIRFLOW_CONN_<CONN_ID>``, else the embedded server."""
    environ = os.environ if environ is None else environ
    if url := environ.get("TRICKLE_SPARK_URL", "").strip():
        return target_from_url(url)
    target = target_from_variable(conn_id, environ) or SparkTarget()
    if target.kind == "submit":
        raise _needs_submit(target.url)
    return target


def target_from_variable(conn_id: str, environ: Mapping[str, str]) -> SparkTarget | None:
    """The target of a connection that stands in ``AIRFLOW_CONN_<CONN_ID>``; None if it is not there."""
    variable = _variable(conn_id)
    text = environ.get(variable, "").strip()
    if not text:
        return None
    fields = _from_json(variable, text) if text.startswith("{") else _from_uri(text)
    return target_from_connection(**fields)


def other_than_airflow(conn_id: str, environ: Mapping[str, str] | None = None) -> str | None:
    """How the Spark of a command differs from that of Airflow's tasks, as far as the environment tells; None if not.

    >>> other_than_airflow("trickle_spark", {})
    """
    environ = os.environ if environ is None else environ
    variable, known = _variable(conn_id), target_from_variable(conn_id, environ)
    if url := environ.get("TRICKLE_SPARK_URL", "").strip():
        here = target_from_url(url)
        there = known or (SparkTarget() if conn_id == DEFAULT_CONNECTION else None)
        if here == there:
            return None
        theirs = f"{known} ({variable})" if known is not None else f"Airflow's connection '{conn_id}'"
        settings = " with other settings" if known is not None and str(here) == str(known) else ""
        return (
            f"this command uses {here} (TRICKLE_SPARK_URL or --spark), and the tasks of Airflow use {theirs}{settings}"
        )
    if known is None and conn_id != DEFAULT_CONNECTION:
        return (
            f"this command uses {SparkTarget()}, since {variable} is not in its environment, and the tasks of Airflow "
            f"use Airflow's connection '{conn_id}'"
        )
    if known is not None and known.kind == "submit":
        return f"the tasks of Airflow use {known} ({variable}), which this command cannot"
    return None


def _variable(conn_id: str) -> str:
    return f"AIRFLOW_CONN_{conn_id.upper()}"


def _from_json(variable: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
        extra = found.get("extra") or {}
        extra = json.loads(extra) if isinstance(extra, str) else extra
        port = int(found["port"]) if found.get("port") else None
    except (ValueError, TypeError):
        # The text may hold a password: it is not repeated, and neither is the parser's message.
        raise SettingsError(f"The environment variable {variable} is not a connection in JSON.") from None
    texts = {key: found.get(key) or "" for key in ("conn_type", "host", "login", "password")}
    return {**texts, "port": port, "extra": extra}


def _from_uri(text: str) -> dict[str, Any]:
    """The fields of a connection in Airflow's URI form; the host may carry its own scheme."""
    conn_type, mark, rest = text.partition("://")
    if not mark:
        return {"host": text}
    protocol = conn_type if conn_type == "sc" else ""
    if "://" in rest.split("?", 1)[0]:
        protocol, _, rest = rest.partition("://")
    parts = _split(f"sc://{rest}")
    host = unquote(parts.hostname or "")
    if ":" in host and "://" not in host:
        host = f"[{host}]"
    query = dict(parse_qsl(parts.query))
    try:
        extra = json.loads(query["__extra__"]) if "__extra__" in query else query
    except ValueError:
        raise SettingsError("The '__extra__' of a Spark connection's URI is not JSON.") from None
    named = _parameters(parts)
    return {
        "conn_type": conn_type.replace("-", "_"),
        "host": f"{protocol}://{host}" if protocol and "://" not in host else host,
        "port": parts.port,
        "login": unquote(parts.username or "") or named.get("user_id"),
        "password": unquote(parts.password or "") or named.get("token"),
        "extra": {**named, **extra},
    }


def _normalised(url: str, port: int | None = None, extra: Mapping[str, str] | None = None) -> str:
    """One spelling of an address: host, port and parameters, with user and password as parameters."""
    parts = _split(url)
    host = parts.hostname
    if not host or parts.query or parts.fragment or parts.path.split(";", 1)[0] not in ("", "/"):
        raise SettingsError(
            f"Spark Connect address '{_shown(url)}' is not of the form sc://host:port/;name=value;name=value."
        )
    given = {"user_id": unquote(parts.username or ""), "token": unquote(parts.password or "")}
    named = {key: value for key, value in given.items() if value} | _parameters(parts) | dict(extra or {})
    host = f"[{host}]" if ":" in host else host
    tail = "".join(f";{key}={quote(value, safe='')}" for key, value in sorted(named.items()))
    return f"{_SCHEME}{host}:{parts.port or port or DEFAULT_PORT}" + (f"/{tail}" if tail else "")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit("http" + url[2:])
        _ = parts.port  # raises when it is not a number
    except ValueError:
        raise SettingsError(
            f"Spark Connect address '{_shown(url)}' cannot be read. Write it as sc://host:port."
        ) from None
    return parts


def _parameters(parts: SplitResult) -> dict[str, str]:
    pairs = (piece.partition("=") for piece in parts.path.split(";")[1:] if piece)
    return {key: unquote(value) for key, _, value in pairs if value}


def _truth(value: object) -> str:
    return "true" if str(value).lower() in ("true", "1") else ""


def _shown(url: str) -> str:
    """An address as it may be printed: no user, no password, no parameters."""
    scheme, mark, rest = url.rpartition("://")
    return scheme + mark + re.split(r"[/;?#]", rest.rpartition("@")[2], maxsplit=1)[0]


def _needs_submit(url: str) -> SettingsError:
    return SettingsError(
        f"Spark at '{_shown(url)}' needs spark-submit, which only the tasks of Airflow do. Use sc://host:port for a "
        f"Spark Connect server, or 'embedded' for a Spark of our own; or submit spark_jobs/tick.py yourself."
    )
