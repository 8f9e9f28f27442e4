"""Sessions on Spark: opened in one round trip, limited in how long they wait, and never left behind."""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import importlib.metadata
import logging
import os
import threading
import time
import uuid
import weakref
from collections.abc import Mapping
from contextvars import copy_context
from types import TracebackType
from typing import TYPE_CHECKING, Any

from airflow_trickle.errors import SettingsError
from airflow_trickle.spark import embedded
from airflow_trickle.spark.conf import SessionConf, leave_to_caller, set_conf
from airflow_trickle.spark.meaning import is_foreign, meaning_of
from airflow_trickle.spark.target import SparkTarget
from airflow_trickle.spark.tuning import chosen_settings, session_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_trickle.spark.channel import Calls, Endpoint

log = logging.getLogger(__name__)

_INTERRUPT_SECONDS = 10.0
_CLOSE_SECONDS = 5.0
#: So many views of refreshes that are done stay in a session of ours: to drop one costs a round trip, and the session
#: ends with its tick. Beyond that they are dropped, since the server keeps the plan of each.
_MOST_VIEWS = 500
#: Sessions that nobody has closed yet, with the process that opened them and how they reach the server.
_open: weakref.WeakKeyDictionary[Any, tuple[int, Calls]] = weakref.WeakKeyDictionary()


def connect(target: SparkTarget, *, session_id: str | None = None, app: str = "airflow-trickle") -> SparkSession:
    """A new session of its own on the target, with the settings that Iceberg files need.

    Args:
        target: where Spark runs; the embedded server is started if need be.
        session_id: a UUID to find the session by later, see `interrupt_session`.
        app: what the server's log calls us.

    Raises:
        SparkUnavailable: nobody answers there, or the server refuses us; within about ten seconds.
    """
    from airflow_trickle.spark import channel

    if target.kind == "submit":
        raise SettingsError(f"There is no session on {target}: applications are submitted to it, and end.")
    channel.require_client()
    if target.kind == "embedded":
        info = embedded.ensure_running()
        endpoint = channel.Endpoint.of_server(info.port, info.token)
    else:
        endpoint = channel.Endpoint.of_target(target)
        channel.reach(endpoint)
    settings = session_settings(dict(target.conf))
    return _opened(endpoint, session_id or str(uuid.uuid4()), app, settings)


def _opened(endpoint: Endpoint, session_id: str, app: str, settings: dict[str, str]) -> SparkSession:
    import grpc  # type: ignore[import-untyped]
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    from airflow_trickle.spark import channel

    # pyspark's own builder sets this: pyspark.sql.functions then make expressions for Connect.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    # pyspark prints every failed query, with the JVM's stack, as JSON to stderr; it also raises it.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    builder = channel.channel_builder(endpoint, session_id, app)
    known = SessionConf()
    builder.add_interceptor(channel.before_queries(known.apply))
    # Not the builder's getOrCreate or create: they would make this the session of the whole process.
    session: Any = ConnectSession(builder, userId=channel.USER)
    # A server on loopback that does not answer for 4 s is gone; a network may come back within 2 minutes.
    # The default tries for more than 10 minutes.
    retries = DefaultPolicy(max_retries=4 if endpoint.embedded else 8, max_backoff=30_000)
    session.client.set_retry_policies([retries])
    with contextlib.suppress(AttributeError):
        atexit.unregister(session.client._on_exit)  # would call the server once more; _close_all does better
    call = channel.Calls(builder)
    try:
        channel.wait_ready(endpoint, builder.toChannel())
        call.configure(settings, channel.SESSION_SECONDS)
        known.begin(call, {**_forget_foreign(call, settings), **settings})
    except grpc.RpcError as error:
        _discard(session)
        raise channel.told(endpoint, error) from error
    except BaseException:
        _discard(session)
        raise
    _open[session] = (os.getpid(), call)
    known.belongs_to(session)
    return session  # type: ignore[no-any-return]


def _forget_foreign(call: Calls, ours: Mapping[str, str]) -> dict[str, str]:
    """Let no setting of the server's own decide what our queries mean; the connection's `conf` can.

    Returns:
        The settings of Spark SQL that are left.
    """
    from airflow_trickle.spark import channel

    found = call.settings("spark.sql.", channel.SESSION_SECONDS)
    foreign = sorted(key for key in found if is_foreign(key, ours))
    unset = call.unset(foreign, channel.SESSION_SECONDS) if foreign else []
    if unset:
        log.info("Settings of the Spark server that are not used here: %s.", ", ".join(unset))
    return {key: value for key, value in found.items() if key not in unset}


def foreign_settings(session: SparkSession, ours: Mapping[str, str]) -> dict[str, str]:
    """The settings of a session that are not ours, could decide what our queries mean, and can be changed."""
    found: Mapping[str, str] = session.conf.getAll
    return {key: value for key, value in found.items() if is_foreign(key, ours) and session.conf.isModifiable(key)}


def close(session: SparkSession) -> None:
    """End a session and free what it holds on the server, if that answers; never raises."""
    _, call = _open.pop(session, (0, None))
    if call is not None:
        # What is being told to the server of queries that have ended would find no session.
        with contextlib.suppress(Exception):
            concurrent.futures.wait(session.client._release_futures, timeout=_CLOSE_SECONDS)
        with contextlib.suppress(Exception):
            call.release(_CLOSE_SECONDS)
    _discard(session)


def _discard(session: Any) -> None:
    """Close our side of a session."""
    session.release_session_on_close = False
    with contextlib.suppress(Exception):
        session.stop()


@atexit.register
def _close_all() -> None:
    # A session that is still open when Python tears its modules down makes the process hang for ever:
    # pyspark's __del__ closes the channel, and gRPC then waits for a thread that is no more.
    for session, (owner, _) in list(_open.items()):
        if owner == os.getpid():  # not in a forked child: it would end its parent's sessions
            close(session)


def interrupt_session(target: SparkTarget | None, session_id: str) -> int:
    """Stop what a client that died left running, and end its session; how many operations were stopped.

    Harmless if the session, or the server, is not there any more.
    """
    return _interrupt(target, session_id, release=True)


def _interrupt(target: SparkTarget | None, session_id: str, *, release: bool) -> int:
    import grpc  # type: ignore[import-untyped]

    from airflow_trickle.errors import SparkUnavailable
    from airflow_trickle.spark import channel

    if target is None or target.kind == "submit":
        return 0  # its session ended with its process
    if target.kind == "embedded":
        state = embedded.running_state()
        if state is None:
            return 0  # with the server went its sessions
        endpoint = channel.Endpoint.of_server(state.port, state.token)
    else:
        endpoint = channel.Endpoint.of_target(target)
    try:
        if not endpoint.embedded:
            channel.reach(endpoint)
        with channel.calls(endpoint, session_id) as call:
            stopped = call.interrupt(_INTERRUPT_SECONDS)
            if release:
                _release(call)
    except (grpc.RpcError, SparkUnavailable) as error:
        # Most often the server has closed the session already.
        log.debug("Session %s on %s was not interrupted: %s", session_id, endpoint.address, error)
        return 0
    return len(stopped)


def _release(call: Calls) -> None:
    """End a session that was just interrupted; Spark refuses while an operation is still on its way out."""
    import grpc

    for pause in (0.1, 0.2, 0.4, 0.8, 1.6, 0):
        try:
            return call.release(_INTERRUPT_SECONDS)
        except grpc.RpcError:
            time.sleep(pause)
    # The server itself drops sessions that nobody has used for an hour.


def _drop_views(session: Any, views: list[str]) -> None:
    for view in views:
        with contextlib.suppress(Exception):  # the session may be gone; its views went with it
            session.catalog.dropTempView(view)


class SparkProvider:
    """Spark for those who may not need it: connects when `session` is first asked for.

    >>> provider = SparkProvider(SparkTarget())
    >>> provider.used
    False
    """

    def __init__(self, target: SparkTarget | None = None, *, app: str = "airflow-trickle") -> None:
        self.target: SparkTarget | None = target or SparkTarget()
        self._app = app
        self._session_id = str(uuid.uuid4())
        self._session: SparkSession | None = None
        self._ours = True
        self._borrowed = False
        #: Whether it ends with what it was submitted for.
        self.is_application = False
        self._chosen = chosen_settings(dict(self.target.conf)) if self.target is not None else {}
        self._version: str | None = None
        self._left: list[str] = []
        self._tidying: threading.Thread | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, session: SparkSession) -> SparkProvider:
        """A session that belongs to the caller; it is never closed by us."""
        provider = cls._with(session)
        provider._borrowed = True
        leave_to_caller(session)
        return provider

    @classmethod
    def of_application(cls, session: SparkSession, conf: Mapping[str, str]) -> SparkProvider:
        """The session of an application of ours, set up like every session, with what a connection asks for."""
        provider = cls._with(session)
        provider.is_application = True
        provider._chosen = chosen_settings(conf)
        ours = session_settings(conf)
        set_conf(session, ours)
        for key in foreign_settings(session, ours):
            session.conf.unset(key)
        return provider

    @classmethod
    def _with(cls, session: SparkSession) -> SparkProvider:
        provider = cls()
        provider.target = None
        provider._session = session
        provider._session_id = str(getattr(session, "session_id", provider._session_id))
        provider._ours = False
        return provider

    @property
    def session(self) -> SparkSession:
        """The session; the first use connects."""
        with self._lock:
            if self._session is None:
                assert self.target is not None  # noqa: S101  (only `of` leaves it out, and it has a session)
                self._session = connect(self.target, session_id=self._session_id, app=self._app)
            return self._session

    def leave(self, views: list[str]) -> None:
        """Leave views behind that nobody needs any more.

        A session of ours takes them along when it ends. Those of a borrowed session, and of one with very many, are
        dropped when others are left: each costs a round trip, for which nobody waits.
        """
        self._wait_for_tidying()
        if self._ours and len(self._left) + len(views) <= _MOST_VIEWS:
            self._left += views
            return
        left, self._left = self._left, list(views)
        if left:
            self._tidying = threading.Thread(target=_drop_views, args=(self._session, left), daemon=True)
            self._tidying.start()

    def _wait_for_tidying(self) -> None:
        if self._tidying is not None:
            self._tidying.join(_CLOSE_SECONDS)
            self._tidying = None

    @property
    def borrowed(self) -> bool:
        """Whether the session belongs to the caller, with settings of the caller's own."""
        return self._borrowed

    @property
    def version(self) -> str | None:
        """The version of Spark, if that can be told without connecting."""
        if self._session is not None and self._version is None:
            # Of the embedded one too: a server that others use may be older than what is installed.
            self._version = str(self._session.version)
        if self._version is None and self.target is not None and self.target.kind == "embedded":
            return importlib.metadata.version("pyspark")
        return self._version

    @property
    def chosen(self) -> Mapping[str, str]:
        """The settings that decide what a query means which the connection has chosen."""
        return dict(self._chosen)

    def meaning(self, version: str) -> dict[str, str]:
        """All that decides what a query means here, on a Spark of that version."""
        return meaning_of(self._chosen, version)

    @property
    def session_id(self) -> str:
        """Known before connecting, so that it can be written down first."""
        return self._session_id

    @property
    def used(self) -> bool:
        """Whether anybody has asked for the session."""
        return self._session is not None

    def end_left_behind(self, session_id: str) -> int:
        """End the session that a client left behind, see `interrupt_session`; never this one.

        What this very process began before may be what is left behind, if it begins again.
        """
        return 0 if session_id == self._session_id else interrupt_session(self.target, session_id)

    def interrupt(self) -> None:
        """Stop what the session runs; safe from another thread and from a signal handler."""
        session = self._session
        if session is None:
            return
        # In a thread and over a channel of its own: a signal may have come while this thread held a
        # lock of gRPC, and waiting for that lock here would be for ever.
        thread = threading.Thread(target=copy_context().run, args=(self._interrupt_now, session), daemon=True)
        thread.start()
        thread.join(2 * _INTERRUPT_SECONDS)

    def _interrupt_now(self, session: SparkSession) -> None:
        with contextlib.suppress(Exception):
            if self._ours:
                _interrupt(self.target, self._session_id, release=False)
            else:
                session.interruptAll()

    def close(self) -> None:
        """End our session; one that was given to us stays open."""
        self._wait_for_tidying()
        with self._lock:
            session, self._session = self._session, None if self._ours else self._session
            left, self._left = self._left, []
        if not self._ours:
            _drop_views(session, left)
        if session is not None and self._ours:
            close(session)
            # A session that was closed cannot be opened again under its old name.
            self._session_id = str(uuid.uuid4())
            self._version = None

    def __enter__(self) -> SparkProvider:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
