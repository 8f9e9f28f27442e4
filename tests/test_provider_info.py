"""What Airflow learns of this package: checked against its own schemas and through its own commands."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from dataclasses import fields
from importlib.metadata import entry_points, version
from pathlib import Path

import jsonschema
import pytest

from airflow_trickle.definition.settings import Settings
from airflow_trickle.provider_info import get_provider_info
from tests.airflow_home import import_airflow

#: Written in airflow.cfg as text, although it is a truth value or the word `unsafe`.
_TYPES = {bool: "boolean", int: "integer", str: "string"}


#: What the operators have in common is not one of them.
UNITS = "airflow_trickle.operators.base"


@pytest.fixture(scope="module")
def airflow_folder() -> Path:
    import_airflow()
    import airflow

    return Path(airflow.__file__).parent


def test_it_is_what_airflow_wants(airflow_folder: Path) -> None:
    info = get_provider_info()

    jsonschema.validate(info, json.loads((airflow_folder / "provider_info.schema.json").read_text()))
    # Only the schema for Apache's own providers, which want more, says how a connection form is described.
    strict = json.loads((airflow_folder / "provider.yaml.schema.json").read_text())
    jsonschema.validate(info["connection-types"], strict["properties"]["connection-types"])


def test_it_is_found_by_its_entry_point() -> None:
    points = entry_points(group="apache_airflow_provider")
    (found,) = [point for point in points if point.dist.name == "airflow-trickle"]

    assert found.load() is get_provider_info
    assert get_provider_info()["package-name"] == "airflow-trickle"
    assert get_provider_info()["versions"] == [version("airflow-trickle")]


def test_every_module_and_class_it_names_exists(airflow_folder: Path) -> None:
    info = get_provider_info()
    parts = ("operators", "sensors", "hooks")
    names = {part: {name for one in info[part] for name in one["python-modules"]} for part in parts}
    for name in set().union(*names.values()):
        importlib.import_module(name)
    from airflow.sdk import BaseOperator

    for part in ("operators", "sensors"):
        folder = Path(importlib.import_module(f"airflow_trickle.{part}").__path__[0])
        modules = {f"airflow_trickle.{part}.{file.stem}" for file in folder.glob("*.py")} - {UNITS}
        made = {
            found.__module__
            for name in modules
            for found in vars(importlib.import_module(name)).values()
            if isinstance(found, type) and issubclass(found, BaseOperator) and found.__module__ == name
        }
        assert names[part] == made, part
    for path in (*info["notifications"], *info["extra-links"]):
        module, _, attribute = path.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), attribute), type)
    for connection in info["connection-types"]:
        module, _, attribute = connection["hook-class-name"].rpartition(".")
        hook = getattr(importlib.import_module(module), attribute)
        assert hook.conn_type == connection["connection-type"]
        assert hook.hook_name == connection["hook-name"]


def test_the_config_section_agrees_with_the_settings() -> None:
    options = get_provider_info()["config"]["trickle"]["options"]
    settings = Settings()

    assert set(options) == {field.name for field in fields(Settings)}
    for name, option in options.items():
        value = getattr(settings, name)
        written = "1g" if name == "worker_memory" else str(value)
        assert option["default"] == written, name
        expected = "string" if name in ("allow_circular", "worker_memory") else _TYPES[type(value)]
        assert option["type"] == expected, name
        assert option["description"].endswith(".\n"), name


@pytest.mark.airflow
def test_airflow_shows_it(tmp_path: Path) -> None:
    env = {
        **{key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW__")},
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }

    def airflow(*arguments: str) -> str:
        command = [sys.executable, "-m", "airflow", *arguments]
        return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout

    assert '"package_name": "airflow-trickle"' in airflow("providers", "list", "--output", "json")
    hooks = json.loads(airflow("providers", "hooks", "--output", "json"))
    assert [hook["class"] for hook in hooks if hook["connection_type"] == "trickle_spark"] == [
        "airflow_trickle.hooks.spark.TrickleSparkHook"
    ]
    assert airflow("config", "get-value", "trickle", "max_fixpoint_iterations").strip() == "100"
