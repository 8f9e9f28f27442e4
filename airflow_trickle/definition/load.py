"""A file or a folder of pipeline files to a `Project`; never raises for what is in the files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from airflow_trickle.definition.document import Document, NotYaml
from airflow_trickle.definition.limits import read_bytes
from airflow_trickle.definition.messages import first_problems
from airflow_trickle.definition.pipeline_file import PipelineFile
from airflow_trickle.definition.records import PipelineDef, Project
from airflow_trickle.errors import Position, Problem

_ENDINGS = (".yaml", ".yml")
#: A mapping with one of these keys is a pipeline; other YAML may live in the same folder.
_OURS = ("pipeline", "stream_tables")
_OUR_LINE = re.compile(rf"^({'|'.join(_OURS)})\s*:", re.MULTILINE)
_TEMPLATE = re.compile(r"\{\{|\{%")


def load_project(path: str | Path) -> Project:
    """Everything the file or folder defines, and everything that is wrong with it.

    A folder is read with all folders in it, hidden ones left out, and YAML that is not a pipeline is
    passed over. Beside a single file, the pipelines of its folder (of the whole ``dags`` folder, if it
    is in one) are read too, so that it may name their tables.
    """
    path = Path(path)
    if path.is_dir():
        found = [_read(file, path, must_be_ours=False) for file in _files(path)]
        return _project(path, [one for one in found if one is not None])
    if not path.exists():
        problem = Problem(Position(str(path), 1, 1), f"there is no file or folder '{path}'.", "Check the path.")
        return Project(str(path), problems_by_file=((str(path), (problem,)),))
    root, beside = _neighbourhood(path)
    own = _read(path, root, must_be_ours=True)
    others = (_read(file, root, must_be_ours=False) for file in beside)
    context = tuple(one[1] for one in others if one is not None and one[1] is not None)
    return _project(path, [own] if own else [], context)


_Read = tuple[str, PipelineDef | None, tuple[Problem, ...]]


def _project(path: Path, found: list[_Read], context: tuple[PipelineDef, ...] = ()) -> Project:
    return Project(
        path=str(path),
        pipelines=tuple(pipeline for _, pipeline, _ in found if pipeline is not None),
        problems_by_file=tuple((file, problems) for file, _, problems in found if problems),
        context=context,
    )


def _files(folder: Path) -> Iterator[Path]:
    """The YAML files of a folder in a stable order; links are followed, but never round in circles."""
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        for name in sorted(names):
            if name.endswith(_ENDINGS) and not name.startswith("."):
                yield Path(place) / name


def _neighbourhood(path: Path) -> tuple[Path, list[Path]]:
    """The project folder of a single file, and the other pipeline files in it."""
    for folder in path.parents:
        if folder.name == "dags" or folder.resolve().name == "dags":
            return folder, [file for file in _files(folder) if file != path]
    # Not a whole tree: the file may lie in somebody's home.
    beside = (file for file in sorted(path.parent.iterdir()) if file.name.endswith(_ENDINGS) and file != path)
    return path.parent, [file for file in beside if file.is_file()]


def _read(path: Path, root: Path, *, must_be_ours: bool) -> _Read | None:
    """The pipeline of a file and its problems; None for a file that is none of our business."""
    try:
        return _read_one(path, root, must_be_ours=must_be_ours)
    except Exception as error:
        # Whatever it is, it is one file's: the others must not suffer from it.
        message = f"the file cannot be understood ({type(error).__name__}: {error})."
        problem = Problem(Position(str(path), 1, 1), message, "Please report it with the file.")
        return str(path), None, (problem,)


def _read_one(path: Path, root: Path, *, must_be_ours: bool) -> _Read | None:
    label = str(path)
    try:
        source = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return label, None, (_not_utf8(error, label),)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        problem = Problem(Position(label, 1, 1), f"the file cannot be read: {reason}.")
        return label, None, (problem,)
    try:
        document = Document(source, label)
    except NotYaml as error:
        ours = must_be_ours or _OUR_LINE.search(source)
        if not ours and (error.other_documents or error.too_much or _TEMPLATE.search(source)):
            return None
        return label, None, (error.problem,)
    if not must_be_ours and not (isinstance(document.data, dict) and any(key in document.data for key in _OURS)):
        return None
    reader = PipelineFile(document, path, root)
    pipeline = reader.read()
    return label, pipeline, first_problems(reader.problems, label, reader.untold)


def _not_utf8(error: UnicodeDecodeError, label: str) -> Problem:
    good = bytes(error.object[: error.start]).decode("utf-8", "replace").split("\n")
    at = Position(label, len(good), len(good[-1]) + 1)
    return Problem(at, "the file is not UTF-8 text.", "Save it as UTF-8.")
