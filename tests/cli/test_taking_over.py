"""``trickle take-over``: a restored database becomes the owner of its warehouse."""

from __future__ import annotations

import json
import os

from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.owner import MARKER, require_owner
from tests.cli.conftest import Shell


def test_a_warehouse_is_taken_over_after_a_question(shell: Shell) -> None:
    with open_lakehouse("trickle") as lake:
        warehouse = lake.catalog.properties["warehouse"]
        require_owner(lake, warehouse)
        marker = f"{warehouse.removeprefix('file://')}/{MARKER}"
        with open(marker, encoding="utf-8") as stream:
            ours = json.load(stream)
        with open(marker, "w", encoding="utf-8") as stream:
            json.dump({"id": "another", "token": "t", "database": "/old.db"}, stream)
        refused = shell("take-over", typed="n\n")
        assert refused.code == 1
        assert f"Is the database that owned {warehouse} before out of use for good?" in refused.out
        told = shell("take-over", typed="y\n")
        assert told.code == 0
        assert told.out.endswith(f"{warehouse}: it belongs to this catalog's database now.\n")
        require_owner(lake, warehouse)
        with open(marker, encoding="utf-8") as stream:
            assert json.load(stream) == ours
        assert shell.ok("take-over", "--yes", "--json").json == {"warehouse": warehouse}


def test_another_folder_can_be_taken_over_too(shell: Shell) -> None:
    folder = shell.folder / "older"
    folder.mkdir()
    assert shell.ok("take-over", "--yes", "--warehouse", f"file://{folder}").out == (
        f"file://{folder}: it belongs to this catalog's database now.\n"
    )
    assert os.listdir(folder) == [MARKER]


def test_with_json_nothing_is_asked(shell: Shell) -> None:
    assert shell("take-over", "--json").code == 2
