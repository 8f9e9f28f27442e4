"""Faults in capturing sources that are not Iceberg tables."""

from __future__ import annotations

from tools.faults.fault import Fault, Room

_CAPTURE = Room(
    "engine/capture",
    "airflow_trickle/engine/capture",
    tests=("tests/engine/capture/test_what_files_changed.py",),
    slow=("tests/engine/capture/test_files.py", "tests/engine/capture/test_rows.py"),
)

CAPTURE: tuple[Fault, ...] = (
    _CAPTURE.fault(
        "removed-files-keep-their-rows",
        "rows of files that were removed from the source stay in the mirror",
        "by_files.py",
        "gone = frozenset(path for path in known.files if path not in contents.files)",
        "gone: frozenset[str] = frozenset()",
    ),
    _CAPTURE.fault(
        "changed-file-is-read-twice",
        "the old rows of a changed file stay beside its new ones",
        "by_files.py",
        "for path in (*self.gone, *changed) for place",
        "for path in self.gone for place",
    ),
    _CAPTURE.fault(
        "rewritten-file-looks-the-same",
        "a file that was written anew under its old name counts as captured",
        "by_files.py",
        "if path not in known.files or known.files[path].identity != file.identity\n",
        "if path not in known.files\n",
    ),
    _CAPTURE.fault(
        "last-watermark-not-read-again",
        "rows with the very last watermark that came later are not captured",
        "by_watermark.py",
        "new = rows.where((column >= bound) | column.isNull())",
        "new = rows.where((column > bound) | column.isNull())",
        slow=("tests/engine/capture/test_rows.py::test_append_only_takes_every_row_once",),
    ),
    _CAPTURE.fault(
        "delta-deletion-vectors-ignored",
        "rows that a deletion vector of a Delta table takes away are captured",
        "by_files.py",
        "            self.contents.deleted,\n        )\n",
        "            {},\n        )\n",
        slow=("tests/engine/capture/test_delta_lake.py",),
    ),
    _CAPTURE.fault(
        "source-may-move-while-it-is-read",
        "a file that changes while it is captured is not noticed",
        "contents.py",
        "if found is None or found.identity != file.identity:",
        "if found is None:",
        slow=("tests/engine/capture/test_killed.py",),
    ),
)
