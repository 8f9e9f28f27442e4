"""Settings of ``[trickle]``: defaults, then airflow.cfg, then the environment. Airflow is not needed."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from airflow_trickle.definition.words import choice_of, nearest
from airflow_trickle.definition.zones import UTC, check_timezone
from airflow_trickle.errors import SettingsError

_SECTION = "trickle"
_PREFIX = "AIRFLOW__TRICKLE__"
#: The words Airflow itself takes for a truth value in airflow.cfg.
_TRUTH = {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}

#: As many passes as there are.
ALL_PASSES: Literal["all"] = "all"
#: With less, hardly any change would be handled in the worker process.
_LEAST_MEMORY = 64 * 1024**2


@dataclass(frozen=True)
class Settings:
    """What holds for every pipeline that does not say otherwise."""

    allow_circular: bool | Literal["unsafe"] = False
    max_fixpoint_iterations: int = 100
    #: How many passes one submission to Spark makes before whoever submitted it looks and goes on.
    passes_per_submission: int | Literal["all"] = "all"
    diamond_consistency: str = "atomic"
    enable_stratum_skip: bool = True
    stratified_cycle_validation: bool = True
    stratified_dred: bool = True
    catalog: str = "trickle"
    spark_conn_id: str = "trickle_spark"
    #: On whose clock cron expressions fire and start dates stand.
    timezone: str = UTC
    #: Let the whole DAG file fail when one definition is wrong.
    strict: bool = False
    #: Have Airflow load once, before it forks, what every task would load anew.
    preload: bool = True
    #: About how many bytes the rows of a refresh may take in the process that does it; more is left to Spark.
    worker_memory: int = 1024**3
    #: Let queries run methods of Java and scripts on the machine of Spark; an operator's choice, never a pipeline's.
    allow_code_in_queries: bool = False


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force; raises `SettingsError` that lists every wrong one.

    >>> load_settings({"AIRFLOW_HOME": "/nowhere", "AIRFLOW__TRICKLE__CATALOG": "lake"}).catalog
    'lake'
    """
    environ = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    wrong: list[str] = []
    # The environment comes last, so it wins.
    for place, name, text in (*_from_file(_config_file(environ)), *_from_environment(environ)):
        read = _READERS.get(name)
        if read is None:
            wrong += _misspelt(place, name)
            continue
        try:
            values[name] = read(text.strip())
        except ValueError as error:
            wrong.append(f"{place} is {text!r}, but must be {error}.")
    if wrong:
        raise SettingsError("\n".join(wrong))
    return replace(Settings(), **values)


def airflow_home(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the Airflow installation: ``$AIRFLOW_HOME``, else ``~/airflow``."""
    environ = os.environ if environ is None else environ
    return Path(environ.get("AIRFLOW_HOME") or "~/airflow").expanduser()


def trickle_home(environ: Mapping[str, str] | None = None) -> Path:
    """Where the embedded catalog, warehouse and Spark live: ``$TRICKLE_HOME``, else below Airflow's home.

    >>> trickle_home({"AIRFLOW_HOME": "/opt/airflow"}).as_posix()
    '/opt/airflow/trickle'
    """
    environ = os.environ if environ is None else environ
    given = environ.get("TRICKLE_HOME")
    return Path(given).expanduser() if given else airflow_home(environ) / "trickle"


def _config_file(environ: Mapping[str, str]) -> Path:
    given = environ.get("AIRFLOW_CONFIG")
    return Path(given).expanduser() if given else airflow_home(environ) / "airflow.cfg"


def _from_file(path: Path) -> Iterator[tuple[str, str, str]]:
    # Airflow doubles '%' in this file; no setting of ours has one, so nothing is interpolated.
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(path.read_text(encoding="utf-8"), source=str(path))
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise SettingsError(f"{path} could not be read: {error}.") from error
    if parser.has_section(_SECTION):
        for name, text in parser.items(_SECTION):
            if name in _READERS or name not in parser.defaults():
                yield f"{path}, [{_SECTION}] {name}", name, text


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for variable in sorted(environ):
        if variable.startswith(_PREFIX):
            name = variable.removeprefix(_PREFIX).lower()
            yield f"the environment variable {variable}", name, environ[variable]


def _misspelt(place: str, name: str) -> list[str]:
    # A newer version may know more settings, so only a name that looks like a slip is an error.
    found = nearest(name, _READERS)
    return [f"{place} is not a setting. Did you mean {found!r}?"] if found else []


def _truth(text: str) -> bool:
    if text.lower() not in _TRUTH:
        raise ValueError("true or false")
    return _TRUTH[text.lower()]


def _circular(text: str) -> bool | str:
    if text.lower() == "unsafe":
        return "unsafe"
    if text.lower() not in _TRUTH:
        raise ValueError("true, false or unsafe")
    return _TRUTH[text.lower()]


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("a whole number of at least 1")
    return int(text)


def _passes(text: str) -> int | str:
    if text.lower() == ALL_PASSES:
        return ALL_PASSES
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("a whole number of at least 1, or all")
    return int(text)


def _memory(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([mg])(?:i?b)?", text.lower())
    bytes_of = {"m": 1024**2, "g": 1024**3}
    size = int(found[1]) * bytes_of[found[2]] if found else 0
    if size < _LEAST_MEMORY:
        raise ValueError("a size such as 512m or 2g, of at least 64m")
    return size


def _timezone(text: str) -> str:
    try:
        return check_timezone(text)
    except ValueError as error:
        hint = f" ({error})" if str(error) else ""
        raise ValueError(f"a time zone such as Europe/Berlin{hint}") from None


def _consistency(text: str) -> str:
    found = choice_of(text, ("atomic", "none"))
    if found is None:
        raise ValueError("atomic or none")
    return found


def _name(text: str) -> str:
    if not text:
        raise ValueError("a name")
    return text


_READERS: dict[str, Callable[[str], Any]] = {
    "allow_circular": _circular,
    "max_fixpoint_iterations": _count,
    "passes_per_submission": _passes,
    "diamond_consistency": _consistency,
    "enable_stratum_skip": _truth,
    "stratified_cycle_validation": _truth,
    "stratified_dred": _truth,
    "catalog": _name,
    "spark_conn_id": _name,
    "timezone": _timezone,
    "strict": _truth,
    "preload": _truth,
    "worker_memory": _memory,
    "allow_code_in_queries": _truth,
}
assert set(_READERS) == {field.name for field in fields(Settings)}  # noqa: S101  a slip of ours, not of the user
