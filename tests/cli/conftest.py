from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle.cli import main
from airflow_trickle.lakehouse.catalog import open_lakehouse


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What was printed, which must be JSON and nothing else."""
        return json.loads(self.out)


class Shell:
    """A person's shell in a folder of its own: the command in this process, with its exit code and output."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, typed: str = "") -> Outcome:
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        said = self._capsys.readouterr()
        code = ended.value.code
        return Outcome(code if isinstance(code, int) else 0, said.out, said.err)

    def ok(self, *arguments: str, typed: str = "") -> Outcome:
        """A command that must succeed and say nothing on standard error."""
        outcome = self(*arguments, typed=typed)
        assert (outcome.code, outcome.err) == (0, ""), outcome
        return outcome

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def source(self, name: str, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
        """Create a source, or add rows to it, by plain pyiceberg."""
        with open_lakehouse("trickle") as lake:
            lake.ensure_namespace("default.x")
            table = lake.catalog.create_table_if_not_exists(f"default.{name}", schema=schema)
            table.append(pa.Table.from_pylist(rows, schema=schema))


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """An empty project folder and an empty embedded catalog."""
    for name in ("TRICKLE_SPARK_URL", "AIRFLOW_CONN_TRICKLE_SPARK", "TRICKLE_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    # So that it is put back after a `run --spark`.
    monkeypatch.setenv("TRICKLE_SPARK_URL", "")
    monkeypatch.setenv("TRICKLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return Shell(project, capsys, monkeypatch)
