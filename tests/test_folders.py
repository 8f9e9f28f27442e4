"""Folders are made for their owner alone; what was there keeps its mode; files with tokens are the owner's."""

from __future__ import annotations

import ast
import os
import stat
from pathlib import Path

import pytest

from airflow_trickle.errors import SparkUnavailable
from airflow_trickle.folders import private_folder, require_own
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.spark.launch import prepare_launch
from airflow_trickle.spark.state import ServerFiles, ServerState

PACKAGE = Path(__file__).parents[1] / "airflow_trickle"
#: What may make folders or set modes by itself, with the reason.
BY_ITSELF = {
    "folders.py": "the helper",
    "cli/definitions.py": "folders of a new project, which Airflow's processes have to read",
}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_every_folder_that_is_made_is_private_and_existing_ones_keep_their_mode(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o755)
    made = private_folder(tmp_path / "theirs" / "a" / "b")
    assert [mode(path) for path in (made, made.parent, tmp_path / "theirs")] == [0o700, 0o700, 0o755]
    (tmp_path / "theirs" / "open").mkdir(mode=0o775)
    assert mode(private_folder(tmp_path / "theirs" / "open")) == 0o775


def test_a_file_in_its_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="is not a folder"):
        private_folder(tmp_path / "file")


@pytest.mark.usefixtures("open_umask")
def test_the_folders_of_the_embedded_spark_are_private_and_those_of_the_user_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_trickle.spark.launch.find_java", lambda: Path("/java"))
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    files = ServerFiles(home / "spark")
    files.prepare()
    prepare_launch(files)
    files.write(ServerState(1, 1.0, 1, 1.0, "token", "now", "4", "s"))
    assert mode(home) == 0o755
    folders = [files.home, *(path for path in files.home.rglob("*") if path.is_dir())]
    assert {mode(path) for path in folders} == {0o700}
    assert [mode(path) for path in (files.state, files.folder / "server.properties")] == [0o600, 0o600]
    existing = ServerFiles(tmp_path / "given")
    existing.folder.mkdir(parents=True, mode=0o750)
    existing.prepare()
    assert (mode(existing.home), mode(existing.folder)) == (0o777, 0o750)


def test_a_folder_that_all_may_write_to_is_refused(tmp_path: Path) -> None:
    files = ServerFiles(tmp_path / "spark")
    files.folder.mkdir(parents=True)
    files.folder.chmod(0o777)
    with pytest.raises(SparkUnavailable, match=r"every user may write to .*chmod o-w"):
        files.prepare()
    assert mode(files.folder) == 0o777
    files.folder.chmod(0o750)
    require_own(files.folder)


@pytest.mark.usefixtures("open_umask")
def test_the_embedded_catalog_is_made_in_a_private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("PYICEBERG_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TRICKLE_HOME", str(tmp_path / "new" / "home"))
    open_lakehouse("trickle").close()
    assert [mode(tmp_path / "new" / "home"), mode(tmp_path / "new")] == [0o700, 0o700]
    (tmp_path / "given").mkdir(mode=0o755)
    monkeypatch.setenv("TRICKLE_HOME", str(tmp_path / "given"))
    open_lakehouse("trickle").close()
    assert mode(tmp_path / "given") == 0o755


def test_nothing_else_makes_folders_or_sets_modes() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("mkdir", "makedirs", "chmod", "fchmod", "umask"):
                found.add(str(path.relative_to(PACKAGE)))
    assert found == set(BY_ITSELF)
