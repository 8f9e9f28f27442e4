"""A fault: one wrong line that a tired engineer could write, and the tests that have to notice it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class FaultError(Exception):
    """The tool cannot do its work; the message says why and what to mend."""


@dataclass(frozen=True)
class Fault:
    """A text to replace in one file of the package.

    Attributes:
        id: In kebab-case; it stays when anchors move.
        title: What is wrong, in plain English.
        part: The room of the package.
        file: Relative to the root of the repository.
        old: The anchor: occurs exactly once in the file.
        new: What stands there instead.
        tests: Files, folders or node ids of the part, tried in both layers.
        slow: More of them, tried in the layer ``test`` only.
    """

    id: str
    title: str
    part: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    slow: tuple[str, ...] = ()

    def planted(self, source: str) -> str:
        """The text of the file with the fault.

        Raises:
            FaultError: the anchor is not there exactly once, or the result is not Python.
        """
        count = source.count(self.old)
        if count != 1:
            raise FaultError(f"{self.id}: its anchor occurs {count} times in {self.file}, but must occur once")
        planted = source.replace(self.old, self.new)
        if planted == source:
            raise FaultError(f"{self.id}: it changes nothing in {self.file}")
        try:
            compile(planted, self.file, "exec")
        except SyntaxError as error:
            raise FaultError(f"{self.id}: {self.file} does not compile with it: {error}") from error
        return planted


def stale(faults: tuple[Fault, ...], tree: Path) -> dict[str, str]:
    """By id: why a fault cannot be planted in a tree; empty if all can be."""
    found: dict[str, str] = {}
    for fault in faults:
        path = tree / fault.file
        try:
            if not path.is_file():
                raise FaultError(f"{fault.id}: {fault.file} does not exist")
            fault.planted(path.read_text(encoding="utf-8"))
        except FaultError as error:
            found[fault.id] = str(error)
    return found


@dataclass(frozen=True)
class Room:
    """What the faults of one part of the package share."""

    part: str
    #: Their files are relative to this folder.
    folder: str
    tests: tuple[str, ...]
    slow: tuple[str, ...] = ()

    def fault(
        self,
        id: str,
        title: str,
        file: str,
        old: str,
        new: str,
        *,
        tests: tuple[str, ...] = (),
        slow: tuple[str, ...] = (),
    ) -> Fault:
        """A fault of this room; its own tests come before those of the room."""
        path = f"{self.folder}/{file}"
        either = _once(*tests, *self.tests)
        return Fault(id, title, self.part, path, old, new, either, _once(*slow, *self.slow, but=either))


def _once(*names: str, but: tuple[str, ...] = ()) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name not in but)
