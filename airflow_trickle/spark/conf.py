"""Run-time settings of sessions: what ours are set to is known, so that no setting is asked for or sent twice."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from airflow_trickle.spark.tuning import DEFAULTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_trickle.spark.channel import Calls


class SessionConf:
    """What a session of ours is set to, and what it is to be set to before its next query runs.

    Settings change several times in a refresh, mostly to what they were before: what no query has met in between
    costs nothing.
    """

    def __init__(self) -> None:
        self._call: Calls | None = None
        self._is: dict[str, str] = {}
        self._wanted: dict[str, str] = {}
        self._lock = threading.Lock()

    def begin(self, call: Calls, known: Mapping[str, str]) -> None:
        """The session is open, and set to this; of the other settings nothing is known."""
        self._call = call
        self._is = {**DEFAULTS, **known}

    def belongs_to(self, session: Any) -> None:
        """It is this session whose settings these are; it is found by it."""
        _known[session] = self

    def value(self, key: str) -> str | None:
        """The value of a setting; None if it is not known."""
        with self._lock:
            return self._wanted.get(key, self._is.get(key))

    def want(self, settings: Mapping[str, str]) -> None:
        """Set something before the next query runs."""
        with self._lock:
            self._wanted.update(settings)

    def note(self, settings: Mapping[str, str]) -> None:
        """Somebody has set these."""
        with self._lock:
            self._is.update(settings)
            for key in settings:
                self._wanted.pop(key, None)

    def forget(self, keys: Collection[str]) -> None:
        """Somebody else sets these now."""
        with self._lock:
            for key in keys:
                self._wanted.pop(key, None)
                self._is.pop(key, None)

    def apply(self) -> None:
        """Set what is wanted and not set yet, in one round trip if there is any."""
        from airflow_trickle.spark import channel

        with self._lock:
            changed = {key: value for key, value in self._wanted.items() if self._is.get(key) != value}
            if changed and self._call is not None:
                self._call.configure(changed, channel.SESSION_SECONDS)
            self._is.update(changed)
            self._wanted.clear()


#: Those of our sessions; nobody else sets anything of them.
_known: weakref.WeakKeyDictionary[Any, SessionConf] = weakref.WeakKeyDictionary()


def set_conf(session: SparkSession, settings: Mapping[str, str], *, lazily: bool = False) -> None:
    """Set several run-time settings, on Spark Connect in one round trip.

    ``lazily``: a session of ours is told before its next query runs, and only of what is not so already. For
    settings that say how a query is run, not for those that decide what it means.
    """
    ours = _known.get(session)
    if ours is not None and lazily:
        ours.want(settings)
        return
    if hasattr(session.conf, "_set_all"):
        session.conf._set_all(dict(settings), silent=False)
    else:
        for key, value in settings.items():
            session.conf.set(key, value)
    if ours is not None:
        ours.note(settings)


def conf_of(session: SparkSession, key: str) -> str | None:
    """The value of a run-time setting; None if it has none."""
    ours = _known.get(session)
    known = ours.value(key) if ours is not None else None
    return known if known is not None else session.conf.get(key, None)


def unset_conf(session: SparkSession, key: str) -> None:
    """Let a run-time setting be what it is without a session's own."""
    ours = _known.get(session)
    if ours is not None:
        ours.forget([key])
    session.conf.unset(key)


def leave_to_caller(session: SparkSession) -> None:
    """The session belongs to somebody who may set anything of it: nothing is known of it any more."""
    for one in [known for known in _known if known is session]:
        del _known[one]
