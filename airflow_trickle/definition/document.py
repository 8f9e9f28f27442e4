"""YAML text to plain data that still knows where every key and value stands (PyYAML stays inside)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import Reader

from airflow_trickle.definition.limits import TooMuch, check_yaml
from airflow_trickle.definition.sql_text import Scalar, SqlText
from airflow_trickle.definition.words import given, shortened
from airflow_trickle.definition.yaml_errors import explain_yaml_error
from airflow_trickle.errors import Position, Problem

#: Where a value stands: keys and list indexes from the top, as pydantic's ``loc``.
Path = Sequence[str | int]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"
_STANDARD = "tag:yaml.org,2002:"
_TIMESTAMP = "tag:yaml.org,2002:timestamp"
#: Tags whose text is taken as it stands. Dates too: only `start_date` wants one, and reads the text itself.
_TEXT = {"tag:yaml.org,2002:str", _TIMESTAMP, "tag:yaml.org,2002:value"}
_READ = {"null", "bool", "int", "float"}
#: More digits than any number has that means something here.
_MAX_NUMBER = 40


class NotYaml(Exception):
    """The text is not one YAML document: show ``problem`` to its author."""

    def __init__(self, problem: Problem, *, other_documents: bool = False, too_much: bool = False) -> None:
        self.problem = problem
        #: True when the text was too much to be looked at.
        self.too_much = too_much
        #: True when the text is a stream of several documents, as other tools like them.
        self.other_documents = other_documents
        super().__init__(str(problem))


class Document:
    """One YAML file: its data, what is wrong with its form, and where each part stands."""

    def __init__(self, source: str, file: str) -> None:
        self.file = file
        self.source = source
        self.problems: list[Problem] = []
        self._root = _compose(source, file)
        self._pairs: dict[int, dict[str, tuple[Node, Node]]] = {}
        self._made: dict[int, Any] = {}
        self.data: Any = None if self._root is None else self._value(self._root, frozenset())

    def position(self, path: Path = ()) -> Position:
        """Where the value at ``path`` begins; the nearest part around it if there is none."""
        node = self._root
        for step in path:
            found = self._child(node, step)
            if found is None:
                break
            node = found[1]
        return self._at(node)

    def key_position(self, path: Path) -> Position:
        """Where the last key of ``path`` is written; for a list item, where the item begins."""
        node = self._root
        for number, step in enumerate(path):
            found = self._child(node, step)
            if found is None:
                break
            if number == len(path) - 1:
                return self._at(found[0])
            node = found[1]
        return self._at(node)

    def sql(self, path: Path) -> SqlText:
        """The text at ``path`` with the places of its characters in this file."""
        node = self._root
        for step in path:
            found = self._child(node, step)
            node = found[1] if found else None
        if not isinstance(node, ScalarNode):
            raise LookupError(f"{self.file} has no text at {list(path)}")
        mark = node.start_mark
        scalar = Scalar(self.source, mark.line, mark.column, node.style or "")
        return SqlText(str(node.value), self.file, scalar)

    def _at(self, node: Node | None) -> Position:
        if node is None:
            return Position(self.file, 1, 1)
        return Position(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def _child(self, node: Node | None, step: str | int) -> tuple[Node, Node] | None:
        if isinstance(node, MappingNode):
            return self._pairs.get(id(node), {}).get(str(step))
        if isinstance(node, SequenceNode):
            items: list[Node] = node.value
            if isinstance(step, int):
                return (items[step], items[step]) if step < len(items) else None
            # A list of names counts as a mapping from them, see `sources`.
            if id(node) not in self._pairs:
                named = (item for item in reversed(items) if isinstance(item, ScalarNode))
                self._pairs[id(node)] = {str(item.value): (item, item) for item in named}
            return self._pairs[id(node)].get(step)
        return None

    def _value(self, node: Node, around: frozenset[int]) -> Any:
        """Plain data of a node; a node met again through an alias gives the same object."""
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        key = id(node)
        if key in around:
            self._complain(node, "an alias leads back into the value that holds it.", "Take the alias out.")
            return None
        if key not in self._made:
            inside = around | {key}
            if isinstance(node, MappingNode):
                pairs = self._pairs[key] = self._mapping(node, around)
                self._made[key] = {name: self._value(value, inside) for name, (_, value) in pairs.items()}
            else:
                self._made[key] = [self._value(item, inside) for item in node.value]
        return self._made[key]

    def _mapping(self, node: MappingNode, around: frozenset[int]) -> dict[str, tuple[Node, Node]]:
        """Key to (key, value); what ``<<`` brings in comes last and never replaces a key of its own."""
        pairs: dict[str, tuple[Node, Node]] = {}
        merged: list[Node] = []
        for key, value in node.value:
            if key.tag == _MERGE:
                merged.append(value)
            elif (name := self._key(key)) is not None:
                if name in pairs:
                    first = pairs[name][0].start_mark.line + 1
                    self._complain(
                        key,
                        f"the key '{name}' is given twice; the first is in line {first}.",
                        "Keep one of them.",
                    )
                else:
                    pairs[name] = (key, value)
        for value in merged:
            for other in self._merge(value, around | {id(node)}):
                for name, pair in other.items():
                    pairs.setdefault(name, pair)
        return pairs

    def _merge(self, value: Node, around: frozenset[int]) -> Iterator[dict[str, tuple[Node, Node]]]:
        for part in value.value if isinstance(value, SequenceNode) else [value]:
            if not isinstance(part, MappingNode) or id(part) in around:
                self._complain(
                    value,
                    "'<<' brings in something that is not a mapping.",
                    "Give it an alias of a mapping: <<: *name.",
                )
            else:
                yield self._mapping(part, around)

    def _key(self, node: Node) -> str | None:
        value = self._scalar(node) if isinstance(node, ScalarNode) else node.value
        if isinstance(value, str):
            return value
        if isinstance(node, ScalarNode):
            self._complain(
                node,
                f"the key '{node.value or 'null'}' is {given(value)} to YAML, not a text.",
                "Put it in quotes.",
            )
        else:
            self._complain(node, f"a key must be a text, not {given(value)}.", "Write `name: value`.")
        return None

    def _scalar(self, node: ScalarNode) -> Any:
        if node.tag in _TEXT:
            return str(node.value)
        kind = str(node.tag).removeprefix(_STANDARD)
        if kind not in _READ:
            self._complain(node, f"the tag '{node.tag}' is not known here.", "Leave it out.")
            return str(node.value)
        if len(node.value) > _MAX_NUMBER:
            # A number of a megabyte takes minutes to read: 1:59:59:… is one, to the base of 60.
            self._complain(node, f"the number {shortened(node.value)} has too many digits.", "Put a text in quotes.")
            return None
        try:
            return SafeConstructor().construct_object(node)  # type: ignore[no-untyped-call]
        except (ValueError, LookupError, ConstructorError):
            what = f"'{node.value}' is not {kind}, although its tag says so."
            self._complain(node, what, "Leave the tag out.")
            return None

    def _complain(self, node: Node, message: str, hint: str) -> None:
        self.problems.append(Problem(self._at(node), message, hint))


def _compose(source: str, file: str) -> Node | None:
    strange = Reader.NON_PRINTABLE.search(source.removeprefix("\ufeff"))
    if strange is not None:
        before = re.split(r"\r\n|\r|\n", source[: strange.start()])
        at = Position(file, len(before), len(before[-1]) + 1)
        message = f"the file is not valid YAML: it has the control character {strange.group()!a}."
        raise NotYaml(Problem(at, message, "Take it out."), other_documents=False)
    try:
        check_yaml(source, file, _Loader)
        root: Node | None = yaml.compose(source, Loader=_Loader)
    except TooMuch as error:
        raise NotYaml(error.problem, too_much=True) from error
    except yaml.MarkedYAMLError as error:
        several = error.context == "expected a single document in the stream"
        raise NotYaml(explain_yaml_error(error, source, file), other_documents=several) from error
    return root
