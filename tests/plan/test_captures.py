"""The fingerprint of how a source is captured: whatever is read differently is another definition."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from airflow_trickle.definition.records import CaptureDef
from airflow_trickle.plan.captures import definition_of

PLAIN = CaptureDef("csv", "files", "/a", (("header", "true"),), "id BIGINT, at TIMESTAMP", "at")
OTHER = {
    "format": "json",
    "method": "append_only",
    "path": "/b",
    "options": (("header", "false"),),
    "columns": "id BIGINT",
    "watermark": "id",
}


def test_every_field_is_looked_at() -> None:
    assert set(OTHER) == {field.name for field in fields(CaptureDef)}


@pytest.mark.parametrize("field", OTHER)
def test_a_change_of_any_field_changes_the_definition(field: str) -> None:
    assert definition_of(replace(PLAIN, **{field: OTHER[field]})) != definition_of(PLAIN)


def test_the_blanks_between_columns_do_not() -> None:
    assert definition_of(replace(PLAIN, columns="id  BIGINT,\n at TIMESTAMP")) == definition_of(PLAIN)
