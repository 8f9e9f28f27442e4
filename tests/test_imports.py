"""Who may import what. A breach is either a mistake or a decision: change this table with the reason."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "airflow_trickle"

#: Every library has one home; a second one is written down here.
HOMES: dict[str, set[str]] = {
    "airflow": {"dag_factory", "dag_tasks", "operators", "sensors", "hooks", "notifications", "plugin"},
    "cachetools": {"lakehouse"},
    # Delta tables are captured through it.
    "deltalake": {"engine"},
    "filelock": {"spark"},
    "grpc": {"spark"},
    "networkx": {"analysis"},
    "pendulum": {"definition", "analysis"},
    "psutil": {"spark"},
    "pyarrow": {"lakehouse", "engine"},
    "pydantic": {"definition", "plan", "results", "tick"},
    "pydantic_core": {"definition"},
    # The engine reads table metadata and data files, but only the lakehouse changes them.
    "pyiceberg": {"lakehouse", "engine"},
    # The API takes a session of the user's.
    "pyspark": {"spark", "engine", "api"},
    "rich": {"cli"},
    # The engine writes its records into the lakehouse's transaction.
    "sqlalchemy": {"lakehouse", "engine"},
    # Blocks are made of the parser's tokens.
    "sqlglot": {"algebra", "blocks"},
    "typer": {"cli"},
    "yaml": {"definition"},
}

#: Which part may use which other; errors, results, tick, clock, tuning, identifiers and folders are for all. Two
#: straight lines: definition → algebra → analysis → plan → DAG, and pin → changes → delta → staged files → commit.
PARTS: dict[str, set[str]] = {
    "__init__": {"api"},
    "errors": set(),
    "results": set(),
    "tick": set(),
    "clock": set(),
    # The bounds of memory are shares of a setting.
    "tuning": {"definition"},
    "folders": set(),
    "identifiers": set(),
    "alerts": set(),
    "provider_info": set(),
    "definition": set(),
    "algebra": set(),
    "blocks": {"algebra"},
    "analysis": {"definition", "algebra", "blocks", "plan"},
    "plan": {"definition", "algebra", "analysis"},
    "lakehouse": {"definition"},
    "spark": {"definition"},
    # The tree's words for joins and set operations are the blocks' too.
    "engine": {"algebra", "blocks", "lakehouse", "plan", "spark"},
    "runner": {"alerts", "engine", "lakehouse", "plan", "spark"},
    "api": {"definition", "engine", "lakehouse", "plan", "runner", "spark"},
    "cli": {"api", "definition", "engine", "lakehouse", "plan", "runner", "spark"},
    "dag_docs": {"plan"},
    # What a source to be captured refers to is found in its step.
    "hooks": {"plan", "spark"},
    "notifications": {"alerts"},
    "operators": {"alerts", "engine", "hooks", "lakehouse", "plan", "spark"},
    "translator": {"plan"},
    "sensors": {"hooks", "lakehouse", "operators", "spark"},
    "dag_tasks": {"dag_docs", "notifications", "operators", "plan", "sensors", "translator"},
    # It names what tasks import, and imports only the settings itself.
    "plugin": {"definition"},
    "dag_factory": {"alerts", "dag_docs", "dag_tasks", "definition", "operators", "plan", "translator"},
}
FOR_ALL = {"errors", "results", "tick", "clock", "tuning", "identifiers", "folders"}

#: What only an Airflow installation imports.
WITH_AIRFLOW = ("dag_factory", "dag_tasks", "operators", "sensors", "hooks", "notifications", "plugin")


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module a file imports, at the top or inside a function, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            if node.module == "airflow_trickle":
                yield from ((f"airflow_trickle.{alias.name}", node.lineno) for alias in node.names)
            elif node.module:
                yield node.module, node.lineno


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def modules(*, with_airflow: bool) -> list[str]:
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if (part_of(path) in WITH_AIRFLOW) == with_airflow:
            names.append(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    return names


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_what_its_part_may(path: Path) -> None:
    part = part_of(path)
    assert part in PARTS, f"{part} is new: say in PARTS what it may import"
    breaches = []
    for module, line in imports(path):
        top, _, rest = module.partition(".")
        if top == "airflow_trickle":
            other = rest.partition(".")[0]
            if other and other not in {part, *PARTS[part], *FOR_ALL}:
                breaches.append(f"{path}:{line}: {part} must not import {module}")
        elif top not in sys.stdlib_module_names and part not in HOMES.get(top, set()):
            breaches.append(f"{path}:{line}: {top} has its home in {sorted(HOMES.get(top, ())) or 'no part'}")
    assert not breaches, "\n".join(breaches)


def run(code: str, forbidden: tuple[str, ...], tmp_path: Path) -> None:
    """Run code in a process in which some modules cannot be imported."""
    guard = f"""
import sys

class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in {forbidden!r}):
            raise ImportError(f"{{name}} must not be imported here")

sys.meta_path.insert(0, Forbidden())
"""
    done = subprocess.run(
        [sys.executable, "-c", guard + code],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "AIRFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_everything_but_the_airflow_side_imports_without_airflow(tmp_path: Path) -> None:
    names = modules(with_airflow=False)
    assert "airflow_trickle.lakehouse.catalog" in names

    run(f"import importlib\nfor name in {names!r}: importlib.import_module(name)", ("airflow",), tmp_path)


@pytest.mark.slow
def test_dags_are_parsed_without_spark_or_catalog(tmp_path: Path) -> None:
    """Pulling in pyspark or pyiceberg would cost every parse a second, and workers need not have Spark."""
    names = modules(with_airflow=True)
    forbidden = ("pyspark", "pyiceberg", "pyarrow", "airflow_trickle.lakehouse", "airflow_trickle.engine")
    code = f"""
import importlib, runpy
for name in {names!r}:
    importlib.import_module(name)
found = runpy.run_path({str(ROOT / "dags" / "trickle_dags.py")!r})
assert "trickle:webshop" in found, sorted(found)
"""
    run(code, forbidden, tmp_path)


def test_the_package_itself_is_light(tmp_path: Path) -> None:
    """Every Airflow process imports the package for its provider info."""
    code = """
import airflow_trickle.provider_info
heavy = {"pydantic", "networkx", "sqlglot", "yaml", "typer", "rich"} & set(sys.modules)
assert not heavy, heavy
"""
    run(code, ("airflow", "pyspark", "pyiceberg", "sqlalchemy"), tmp_path)
