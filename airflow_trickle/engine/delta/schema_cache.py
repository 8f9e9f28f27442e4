"""What Spark has said of queries: their columns, and whether it accepts them. Asked once, remembered in the process.

An answer depends on the text, on the columns of the relations that it names, on the settings that decide what a query
means and on Spark's version: all of that is the key, so no answer is ever stale.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from airflow_trickle.engine.delta.context import Column

#: How names of views look that nobody else uses.
VIEW = re.compile(r"trickle_[0-9a-f]{32}")
#: So many answers are remembered; those of a query take a few hundred bytes.
_MOST = 20_000


@dataclass(frozen=True)
class Shape:
    """What is known of a view without reading it: its columns as the JSON of Spark's schema, or the query it is."""

    columns: str | None = None
    sql: str | None = None


#: The columns of a query, or whether Spark accepts it.
Answer = tuple[Column, ...] | bool


class Answers:
    """Remembers answers of Spark, the latest used ones if there are too many."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: OrderedDict[str, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Answer | None:
        """The answer to a question; None if nobody has asked it yet."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def put(self, key: str, answer: Answer) -> None:
        """Remember an answer."""
        with self._lock:
            self._known[key] = answer
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._known.clear()


#: Of this process.
ANSWERS = Answers()


def shapes_of(sql: str, known: Mapping[str, Shape]) -> dict[str, Shape] | None:
    """The views that a query names, each behind those that it names itself; None if one is not known."""
    found: dict[str, Shape] = {}
    for name in dict.fromkeys(VIEW.findall(sql)):
        shape = known.get(name)
        if shape is None:
            return None
        if shape.sql is not None:
            inner = shapes_of(shape.sql, known)
            if inner is None:
                return None
            found.update((one, said) for one, said in inner.items() if one not in found)
        found.setdefault(name, shape)
    return found


def question(kind: str, sql: str, shapes: Mapping[str, Shape], meaning: str) -> str:
    """The key of a question: the same for the same text over views of the same columns, whatever they are called.

    >>> one, other = "trickle_" + "0" * 32, "trickle_" + "1" * 32
    >>> said = Shape(columns="{}")
    >>> first = question("columns", f"SELECT * FROM {one}", {one: said}, "")
    >>> first == question("columns", f"SELECT * FROM {other}", {other: said}, "")
    True
    >>> first == question("columns", f"SELECT * FROM {one}", {one: Shape(columns="[]")}, "")
    False
    """
    numbers = {name: f"trickle_{number}" for number, name in enumerate(shapes)}
    relations = (shape.columns or renamed(shape.sql or "", numbers) for shape in shapes.values())
    digest = hashlib.sha256()
    for part in (meaning, kind, renamed(sql, numbers), *relations):
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


def renamed(sql: str, names: Mapping[str, str]) -> str:
    """A query with other names for some of its views."""
    return VIEW.sub(lambda name: names.get(name[0], name[0]), sql)
