"""Settings of airflow.cfg and the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.definition.settings import Settings, load_settings, trickle_home
from airflow_trickle.errors import SettingsError


def config(folder: Path, text: str) -> dict[str, str]:
    (folder / "airflow.cfg").write_text(text, encoding="utf-8")
    return {"AIRFLOW_HOME": str(folder)}


def refusal(environ: dict[str, str]) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ)
    return str(caught.value)


def test_without_configuration_the_defaults_hold(tmp_path):
    """Design 004 Step 4: test_catalog_diamond_consistency_default"""
    assert load_settings({"AIRFLOW_HOME": str(tmp_path)}) == Settings(
        allow_circular=False,
        max_fixpoint_iterations=100,
        passes_per_submission="all",
        diamond_consistency="atomic",
        enable_stratum_skip=True,
        stratified_cycle_validation=True,
        stratified_dred=True,
        catalog="trickle",
        spark_conn_id="trickle_spark",
        timezone="UTC",
        strict=False,
        preload=True,
        worker_memory=1024**3,
        allow_code_in_queries=False,
    )


def test_the_file_wins_over_defaults_and_the_environment_over_the_file(tmp_path):
    environ = config(
        tmp_path, "[core]\nfoo = %(bar)s %\n[trickle]\nCatalog = lake\nallow_circular = unsafe\nstrict = T\n"
    )
    environ["AIRFLOW__TRICKLE__CATALOG"] = "sea"
    environ["AIRFLOW__TRICKLE__STRATIFIED_DRED"] = "False"
    settings = load_settings(environ)
    assert (settings.catalog, settings.allow_circular, settings.strict) == ("sea", "unsafe", True)
    assert settings.stratified_dred is False


def test_the_file_may_be_named_by_a_variable(tmp_path):
    config(tmp_path, "[trickle]\nmax_fixpoint_iterations = 7\n")
    environ = {"AIRFLOW_HOME": "/nowhere", "AIRFLOW_CONFIG": str(tmp_path / "airflow.cfg")}
    assert load_settings(environ).max_fixpoint_iterations == 7


def test_all_wrong_values_are_told_at_once_with_their_place(tmp_path):
    environ = config(tmp_path, "[trickle]\nenable_stratum_skip = maybe\ndiamond_consistency = atomc\n")
    environ["AIRFLOW__TRICKLE__MAX_FIXPOINT_ITERATIONS"] = "0"
    environ["AIRFLOW__TRICKLE__ALLOW_CIRCULAR"] = "safe"
    environ["AIRFLOW__TRICKLE__CATALOG"] = ""
    environ["AIRFLOW__TRICKLE__TIMEZONE"] = "Berlin"
    environ["AIRFLOW__TRICKLE__SPARK_CON_ID"] = "x"
    assert refusal(environ).splitlines() == [
        f"{tmp_path}/airflow.cfg, [trickle] enable_stratum_skip is 'maybe', but must be true or false.",
        f"{tmp_path}/airflow.cfg, [trickle] diamond_consistency is 'atomc', but must be atomic or none.",
        "the environment variable AIRFLOW__TRICKLE__ALLOW_CIRCULAR is 'safe', but must be true, false or unsafe.",
        "the environment variable AIRFLOW__TRICKLE__CATALOG is '', but must be a name.",
        "the environment variable AIRFLOW__TRICKLE__MAX_FIXPOINT_ITERATIONS is '0', but must be a "
        "whole number "
        "of at least 1.",
        "the environment variable AIRFLOW__TRICKLE__SPARK_CON_ID is not a setting. Did you mean 'spark_conn_id'?",
        "the environment variable AIRFLOW__TRICKLE__TIMEZONE is 'Berlin', but must be a time zone such as "
        "Europe/Berlin (Did you mean Europe/Berlin?).",
    ]


def test_the_memory_of_the_worker_is_a_size():
    def told(text: str) -> int:
        return load_settings({"AIRFLOW_HOME": "/nowhere", "AIRFLOW__TRICKLE__WORKER_MEMORY": text}).worker_memory

    assert [told(text) for text in ("64m", "512M", "2g", "2 GiB")] == [n * 1024**2 for n in (64, 512, 2048, 2048)]
    for wrong in ("63m", "100", "1.5g", "much", "-1g"):
        assert refusal({"AIRFLOW_HOME": "/nowhere", "AIRFLOW__TRICKLE__WORKER_MEMORY": wrong}).endswith(
            f"is '{wrong}', but must be a size such as 512m or 2g, of at least 64m."
        )


def test_a_setting_of_a_newer_version_is_passed_over(tmp_path):
    assert load_settings(config(tmp_path, "[trickle]\nholographic = yes\n")) == Settings()


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    assert refusal(config(tmp_path, "no section\n")).startswith(f"{tmp_path}/airflow.cfg could not be read: ")


def test_every_setting_is_offered_to_airflow():
    from airflow_trickle.provider_info import get_provider_info

    options = get_provider_info()["config"]["trickle"]["options"]
    for name, default in vars(Settings()).items():
        environ = {"AIRFLOW_HOME": "/nowhere", f"AIRFLOW__TRICKLE__{name.upper()}": options[name]["default"]}
        told = load_settings(environ)
        assert getattr(told, name) == default, name
    assert set(options) == set(vars(Settings()))


def test_home_is_beside_airflow_unless_said_otherwise():
    assert trickle_home({"TRICKLE_HOME": "/data/trickle", "AIRFLOW_HOME": "/a"}) == Path("/data/trickle")
    assert trickle_home({"AIRFLOW_HOME": "/a"}) == Path("/a/trickle")
    assert trickle_home({}) == Path.home() / "airflow" / "trickle"
