"""Using a session for a while: as the thread's active one, and with settings that are put back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from airflow_trickle.spark.conf import conf_of, set_conf, unset_conf
from airflow_trickle.spark.session import SparkProvider, foreign_settings
from airflow_trickle.spark.tuning import SESSION_SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def is_connect(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, not that of a driver of its own."""
    # Not by trying an attribute: a classic session answers with an error of its own.
    return type(session).__module__.startswith("pyspark.sql.connect")


def queried(session: SparkSession, query: str, views: Mapping[str, DataFrame] | None = None) -> DataFrame:
    """The result of a SELECT, of which Spark is asked nothing until somebody asks the result.

    On Spark Connect, ``session.sql`` has the server analyse the query once before, in case it is a command: a round
    trip, and half of the work for a small query. What is wrong with a query is told when it is used.

    Args:
        session: Where it runs.
        query: The SELECT.
        views: What the query names beside the session's own views; each may name those before it. They travel with
            the query and are gone with it, which spares a round trip for each. For Spark Connect alone.
    """
    if not is_connect(session):
        assert not views  # noqa: S101 - only Connect takes views along
        return session.sql(query)
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
    from pyspark.sql.connect.plan import SQL, SubqueryAlias, WithRelations

    plan: Any = SQL(query)
    if views:
        frames: Mapping[str, Any] = views
        plan = WithRelations(plan, [SubqueryAlias(frame._plan, name) for name, frame in frames.items()])
    return ConnectFrame(plan, session)  # type: ignore[arg-type,return-value]


@contextmanager
def activated(session: SparkSession) -> Iterator[None]:
    """Make a Connect session the active one of this thread; a checkpoint asks for it.

    Only for this thread and only for the block, so that other work in the process keeps its own.
    """
    if not is_connect(session):
        yield
        return
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    local: Any = ConnectSession._active_session
    before = getattr(local, "session", None)
    local.session = session
    try:
        yield
    finally:
        local.session = before


@contextmanager
def lent(spark: SparkProvider) -> Iterator[None]:
    """Give a session that belongs to the caller the settings of ours for a while; those of ours have them anyway."""
    if not spark.borrowed:
        yield
        return
    session = spark.session
    foreign = foreign_settings(session, SESSION_SETTINGS)
    with configured(session, SESSION_SETTINGS, put_back=True):
        for key in foreign:
            unset_conf(session, key)
        try:
            yield
        finally:
            with suppress(Exception):
                set_conf(session, foreign)


@contextmanager
def configured(
    session: SparkSession, settings: Mapping[str, str], *, put_back: bool, lazily: bool = False
) -> Iterator[None]:
    """Set settings of a session; with ``put_back`` they are what they were afterwards. ``lazily``: see `set_conf`."""
    if not settings:
        yield
        return
    before = {key: conf_of(session, key) for key in settings} if put_back else {}
    set_conf(session, settings, lazily=lazily)
    try:
        yield
    finally:
        # The session may be gone by now; the error that ended it is the one to show.
        with suppress(Exception):
            for key, value in before.items():
                if value is None:
                    unset_conf(session, key)
                else:
                    set_conf(session, {key: value}, lazily=lazily)


@contextmanager
def without(session: SparkSession, keys: Collection[str]) -> Iterator[None]:
    """Unset settings of a session for a while; they are what they were afterwards."""
    before = {key: conf_of(session, key) for key in keys}
    for key in before:
        unset_conf(session, key)
    try:
        yield
    finally:
        # The session may be gone by now; the error that ended it is the one to show.
        with suppress(Exception):
            set_conf(session, {key: value for key, value in before.items() if value is not None})
