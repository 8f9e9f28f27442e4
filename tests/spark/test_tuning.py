from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.spark.launch import server_properties
from airflow_trickle.spark.state import ServerFiles
from airflow_trickle.spark.tuning import GiB, MiB, machine_memory, server_settings, session_conf


@pytest.mark.parametrize(
    ("size", "partitions"),
    [(0, 1), (8 * MiB - 1, 1), (8 * MiB, 2), (127 * MiB, 2), (128 * MiB, 2), (GiB, 16), (1024 * GiB, 4096)],
)
def test_shuffle_partitions_grow_with_the_input(size, partitions):
    settings = session_conf(size, cores=2)
    assert settings["spark.sql.shuffle.partitions"] == str(partitions)
    # Both ways: a session refreshes one table after the other.
    assert settings["spark.sql.adaptive.enabled"] == ("false" if partitions == 1 else "true")


def test_a_user_may_change_the_server_but_not_open_it():
    user = {
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": "-Dmine=1",
        "spark.connect.grpc.binding.address": "0.0.0.0",
    }
    settings = server_settings(Path("/h"), user, 24 * GiB)
    assert settings["spark.driver.memory"] == "3g"
    assert settings["spark.driver.extraJavaOptions"].endswith('"-Djava.io.tmpdir=/h/tmp" -Dmine=1')
    assert settings["spark.connect.grpc.binding.address"] == "127.0.0.1"


def test_a_value_of_the_users_settings_may_hold_the_sign_between_name_and_value(tmp_path):
    files = ServerFiles(tmp_path)
    files.user_settings.write_text(
        "# mine=1\nspark.a -Dx=1 -Dy=2\nspark.b = c=d\nspark.e=f g\n\nspark.nothing=\n spark.h\ti \n"
    )
    found = server_properties(files)
    assert [found.get(f"spark.{name}") for name in ("a", "b", "e", "nothing", "h")] == [
        "-Dx=1 -Dy=2",
        "c=d",
        "f g",
        None,
        "i",
    ]


def test_machine_memory_is_a_number_of_bytes():
    assert 128 * MiB < machine_memory() < 1024**5


def test_a_connection_cannot_switch_off_what_keeps_rows_right() -> None:
    from airflow_trickle.spark.tuning import SESSION_SETTINGS, session_settings

    wanted = {
        "spark.sql.parquet.fieldId.read.enabled": "false",
        "spark.sql.files.ignoreMissingFiles": "true",
        "spark.sql.session.timeZone": "Europe/Amsterdam",
        "spark.sql.shuffle.partitions": "7",
    }
    settings = session_settings(wanted)
    assert settings["spark.sql.parquet.fieldId.read.enabled"] == "true"
    assert settings["spark.sql.files.ignoreMissingFiles"] == "false"
    # What a query means may be chosen, and what is not ours passes.
    assert settings["spark.sql.session.timeZone"] == "Europe/Amsterdam"
    assert settings["spark.sql.shuffle.partitions"] == "7"
    assert settings.keys() >= SESSION_SETTINGS.keys()


def test_no_secret_of_a_connection_is_written_down_with_the_rows() -> None:
    from airflow_trickle.spark.tuning import chosen_settings, session_settings

    wanted = {
        "spark.sql.catalog.prod.credential": "id:hidden",
        "spark.sql.my.password": "hidden",
        "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    }
    assert chosen_settings(wanted) == {"spark.sql.mapKeyDedupPolicy": "LAST_WIN"}
    # What is not written down decides nothing.
    assert "spark.sql.my.password" not in session_settings(wanted)
