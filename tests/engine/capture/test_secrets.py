"""References in options: where their values come from, and that they are not shown."""

from __future__ import annotations

import pytest

from airflow_trickle.engine.capture.secrets import resolved
from airflow_trickle.errors import SettingsError
from airflow_trickle.plan.steps import CaptureStep


def step(**options: str) -> CaptureStep:
    return CaptureStep(
        name="s",
        identifier="default.s",
        pipeline="p",
        format="jdbc",
        method="snapshot",
        path=None,
        options=options,
        columns=None,
        watermark=None,
        definition="d",
        declared_at="p.yaml:3:3",
    )


SHOP = step(
    url="jdbc:postgresql://${conn.shop.host}:${conn.shop.port}/${conn.shop.schema}",
    user="${conn.shop.login}",
    password="${conn.shop.password}",
    token="Bearer ${TOKEN}",
)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:s%40crt@db:5432/sales",
        '{"conn_type": "postgres", "host": "db", "port": 5432, "login": "me", "password": "s@crt", "schema": "sales"}',
    ],
)
def test_values_come_from_variables_and_connections(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", text)
    monkeypatch.setenv("TOKEN", "t0ken")
    options = resolved(SHOP)
    assert options.values == {
        "url": "jdbc:postgresql://db:5432/sales",
        "user": "me",
        "password": "s@crt",
        "token": "Bearer t0ken",
    }
    assert options.masked("cannot connect as me with s@crt or t0ken") == "cannot connect as me with *** or ***"
    assert "s@crt" not in repr(options)
    assert options.get("PASSWORD") == "s@crt"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"^p.yaml:3:3: source 's': its options refer to the environment variable"):
        resolved(step(token="${TOKEN}"))
    with pytest.raises(SettingsError, match="the Airflow connection 'shop', which is not there"):
        resolved(step(user="${conn.shop.login}"))
    with pytest.raises(SettingsError, match="the login of the Airflow connection 'shop', which is empty"):
        resolved(step(user="${conn.shop.login}"), lambda _id: {"host": "db"})
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", "{not json: s@crt")
    with pytest.raises(SettingsError, match="AIRFLOW_CONN_SHOP is not a connection") as error:
        resolved(step(user="${conn.shop.login}"))
    assert "s@crt" not in str(error.value)
