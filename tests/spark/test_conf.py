"""Settings of sessions of ours: told with the next query, and only what is not so already."""

from __future__ import annotations

from typing import Any

from airflow_trickle.spark.active import configured
from airflow_trickle.spark.conf import SessionConf, conf_of, leave_to_caller, set_conf, unset_conf


class Session:
    """Stands for a session: what is sent to the server for it."""

    def __init__(self) -> None:
        self.sent: list[dict[str, str]] = []
        self.values: dict[str, str] = {}
        self.conf: Any = self

    def _set_all(self, settings: dict[str, str], silent: bool) -> None:
        self.configure(settings, 0)

    def configure(self, settings: dict[str, str], _seconds: float) -> None:
        self.sent.append(dict(settings))
        self.values.update(settings)

    def get(self, key: str, default: str | None = None) -> str | None:
        return self.values.get(key, default)

    def unset(self, key: str) -> None:
        self.values.pop(key, None)


def ours(**known: str) -> tuple[Session, SessionConf]:
    session, conf = Session(), SessionConf()
    call: Any = session
    conf.begin(call, known)
    conf.belongs_to(session)
    session.values.update(known)
    return session, conf


def test_what_no_query_has_met_is_never_sent() -> None:
    session, conf = ours(a="1", b="1")
    with configured(session, {"a": "2"}, put_back=True, lazily=True):  # type: ignore[arg-type]
        pass
    conf.apply()
    assert session.sent == []


def test_a_query_meets_the_settings_of_its_block() -> None:
    session, conf = ours(a="1", b="1")
    with configured(session, {"a": "2", "b": "1"}, put_back=True, lazily=True):  # type: ignore[arg-type]
        conf.apply()
        assert session.sent == [{"a": "2"}]
        conf.apply()
    conf.apply()
    assert session.sent == [{"a": "2"}, {"a": "1"}]


def test_settings_that_decide_rows_are_sent_at_once_and_put_back_at_once() -> None:
    session, _ = ours(a="1")
    with configured(session, {"a": "2", "new": "x"}, put_back=True):  # type: ignore[arg-type]
        assert session.values == {"a": "2", "new": "x"}
    assert session.values == {"a": "1"}


def test_a_setting_that_was_set_at_once_wins_over_one_that_waits() -> None:
    session, conf = ours(a="1")
    set_conf(session, {"a": "2"}, lazily=True)  # type: ignore[arg-type]
    set_conf(session, {"a": "3"})  # type: ignore[arg-type]
    conf.apply()
    assert session.values == {"a": "3"}
    unset_conf(session, "a")  # type: ignore[arg-type]
    assert conf_of(session, "a") is None  # type: ignore[arg-type]


def test_of_a_session_of_the_callers_nothing_is_taken_for_known() -> None:
    session, _ = ours(a="1")
    leave_to_caller(session)  # type: ignore[arg-type]
    session.values["a"] = "7"
    assert conf_of(session, "a") == "7"  # type: ignore[arg-type]
    set_conf(session, {"a": "7"}, lazily=True)  # type: ignore[arg-type]
    assert session.sent == [{"a": "7"}]
