"""Which files of a source are read and which rows of its mirror go, told from listings alone: without Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_trickle.engine.capture import by_files
from airflow_trickle.engine.capture.by_files import FilesTask
from airflow_trickle.engine.capture.contents import Contents, SourceMoved
from airflow_trickle.engine.capture.state import CaptureState, KnownFile
from airflow_trickle.engine.capture.task import Subject
from airflow_trickle.lakehouse.listing import list_folder

ANY: Any = None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A source of three files."""
    for name in ("a", "b", "c"):
        write(tmp_path, name, "{}\n")
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.json").write_text(text, encoding="utf-8")


def names(paths: Any) -> list[str]:
    return sorted(Path(path).stem for path in paths)


def captured(folder: Path) -> Subject:
    """The source as it is now, and a mirror that holds the rows of each of its files in a data file of its own."""
    known = {
        path: KnownFile(file.identity, (f"rows of {Path(path).stem}",))
        for path, file in list_folder(ANY, str(folder)).items()
    }
    held = {place: f"data file with {place}" for file in known.values() for place in file.data}
    mirror: Any = SimpleNamespace(
        state=CaptureState({}, files=known), cause="first capture", held=held, place=lambda path: path
    )
    step: Any = SimpleNamespace(path=str(folder), format="json")
    return Subject(ANY, step, ANY, mirror)


def test_changed_and_new_files_are_read_and_rows_of_changed_and_vanished_ones_go(folder: Path) -> None:
    subject = captured(folder)
    assert by_files.look(subject) is None
    write(folder, "b", '{"n": 1}\n')
    (folder / "c.json").unlink()
    write(folder, "d", "{}\n")
    task = by_files.look(subject)
    assert task is not None
    assert names(file.path for file in task.to_read) == ["b", "d"]
    assert names(task.gone) == ["c"]
    removed: list[Any] = task._removed()
    assert removed == ["data file with rows of b", "data file with rows of c"]
    assert task.reason == "1 file new, 1 file changed, 1 file gone"


@pytest.mark.parametrize("what", ["changed", "removed"])
def test_a_file_that_moves_while_it_is_read_is_noticed(folder: Path, what: str) -> None:
    subject = captured(folder)
    write(folder, "b", '{"n": 1}\n')
    task = by_files.look(subject)
    assert task is not None
    task.check()
    if what == "changed":
        write(folder, "b", '{"n": 1, "m": 2}\n')
    else:
        (folder / "b.json").unlink()
    with pytest.raises(SourceMoved, match=rf"b\.json was {what} while it was read"):
        task.check()


def test_rows_that_a_log_takes_away_are_left_out_when_a_file_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = captured(folder)
    files = list_folder(ANY, str(folder))
    deleted = {path: (0,) for path in files}
    asked: list[Any] = []
    monkeypatch.setattr(by_files, "read_listed", lambda *given: asked.append(given))
    monkeypatch.setattr(by_files, "_write_apart", lambda *_: None)
    monkeypatch.setattr(by_files, "list_tree", lambda *_: [])
    monkeypatch.setattr(by_files, "data_files", lambda *_: [])
    task = FilesTask(subject, Contents(files, {}, deleted), tuple(files.values()), frozenset(), "")
    plain: Any = SimpleNamespace(
        state=CaptureState({}), target=SimpleNamespace(table=SimpleNamespace(io=None), schema=None)
    )
    session: Any = object()
    task._written(session, plain, SimpleNamespace(data_folder=""))  # type: ignore[arg-type]
    assert asked[0][-1] == deleted
