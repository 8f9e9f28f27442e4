"""Makes folders that nobody else may read. Folders that were there already keep their mode."""

from __future__ import annotations

import os
import stat
from pathlib import Path

PRIVATE = 0o700


def private_folder(path: Path) -> Path:
    """Make a folder and its missing parents, each readable by nobody else; what exists is left as it is.

    Raises:
        OSError: it cannot be made, or something else is there.
    """
    missing: list[Path] = []
    at = path
    while not at.exists():
        missing.append(at)
        at = at.parent
    for folder in reversed(missing):
        # Another process may have made it meanwhile.
        folder.mkdir(mode=PRIVATE, exist_ok=True)
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is not a folder")
    return path


def require_own(path: Path) -> None:
    """Refuse a folder into which other users may put files: what is found there would not be ours.

    Raises:
        PermissionError: it belongs to another user, or all may write to it.
    """
    found = path.stat()
    if os.geteuid() not in (0, found.st_uid):
        raise PermissionError(f"{path} belongs to another user")
    if found.st_mode & stat.S_IWOTH:
        raise PermissionError(f"every user may write to {path}; take that away (chmod o-w) or choose another folder")
