"""How the change of a table would be computed, step by step: Spark is asked for types only, and nothing is computed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Column
from airflow_trickle.engine.delta.ranges import Ranges
from airflow_trickle.identifiers import fold, quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_WORD = re.compile(r"\w+")
#: What a step is about -> what to call it; {} is the name that stands there.
_NAMED = (
    (re.compile(r"(\S+) after"), "{}_after"),
    (re.compile(r"(\S+) before"), "{}_before"),
    (re.compile(r"the change of a derived table"), "derived_changes"),
    (re.compile(r"the change of a part"), "part_changes"),
    (re.compile(r"the change of the rows below"), "row_changes"),
    (re.compile(r"what may be on top now"), "top_candidates"),
    (re.compile(r"a part before"), "part_before"),
    (re.compile(r"a part after|a part by its state"), "part_after"),
    (re.compile(r"the change of (\S+)"), "{}_changes"),
    (re.compile(r"the keys with another answer"), "answers"),
    (re.compile(r"the keys\b.*"), "keys"),
    (re.compile(r"what the changed rows add to each (?:group|key)\b.*"), "gains"),
    (re.compile(r"the changed values of a subquery"), "changed_values"),
    (re.compile(r"the groups that lost a row"), "losers"),
    (re.compile(r"the distinct rows that came"), "new_rows"),
    (re.compile(r"whether any row changed"), "any_change"),
    (re.compile(r"the changed rows\b.*"), "changed_rows"),
)


@dataclass(frozen=True)
class Step:
    """One part of a change: a query under a name; ``kept``: computed once, else it is only a name."""

    name: str
    about: str
    sql: str
    kept: bool


class Names:
    """Names for views that people can read, and that no word of the query means already."""

    def __init__(self, query: str) -> None:
        # Also words inside literals and comments: then a name of ours can be nothing but what it was given to.
        self._words = {fold(word) for word in _WORD.findall(query)}
        #: By folded name, since Spark does not tell upper from lower case.
        self._given: dict[str, str] = {}

    def give(self, wanted: str, *, count: bool = False) -> str:
        """A name like the wanted one; with ``count`` it has a number from the start."""
        plain = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        name, number = (f"{plain}_1", 1) if count else (plain, 1)
        while fold(name) in self._words or fold(name) in self._given:
            number += 1
            name = f"{plain}_{number}"
        self._given[fold(name)] = name
        return name

    def shown(self, sql: str) -> str:
        """SQL without the quotes around the names that were given; they need none."""
        for name in self._given.values():
            sql = sql.replace(quote(name), name)
        return sql


class ExplainingBench:
    """A workbench on which every part has rows, and none is computed."""

    small = True

    def __init__(self, spark: SparkSession, names: Names, views: list[str]) -> None:
        self._spark = spark
        self._names = names
        self._views = views
        self._asked = SparkBench(spark, views)
        self.steps: list[Step] = []

    def view(self, sql: str, about: str) -> str:
        """Names a query."""
        return self._step(sql, about, kept=False)

    def keep(self, sql: str, about: str) -> str | None:
        """Names a query whose result would be computed once; it is taken to have rows."""
        return self._step(sql, about, kept=True)

    def columns(self, sql: str) -> list[Column]:
        """The columns of a query's result."""
        return self._asked.columns(sql)

    def resolves(self, sql: str) -> bool:
        """Whether Spark accepts a query."""
        return self._asked.resolves(sql)

    def ranges(self, view: str) -> Mapping[str, Ranges]:
        """Between which values a view lies: not known, since it has no rows."""
        return {}

    def is_large(self, view: str) -> bool:
        """False: how large inputs are is not looked at."""
        return False

    def rows_of(self, view: str) -> pa.Table | None:
        """None: nothing is computed."""
        return None

    def frame(self, sql: str) -> DataFrame:
        """The result of a query, which has no rows, since no input has any."""
        return self._asked.frame(sql)

    def _step(self, sql: str, about: str, *, kept: bool) -> str:
        wanted, count = name_of_step(about)
        name = self._names.give(wanted, count=count)
        rows = self._asked.frame(sql)
        if kept:
            # As in a refresh, readers of the step do not plan it again: plans would double at every level of a query.
            rows = self._spark.createDataFrame([], rows.schema)
        rows.createOrReplaceTempView(name)
        self._views.append(name)
        self.steps.append(Step(name, about, self._names.shown(sql), kept))
        return name


def name_of_step(about: str) -> tuple[str, bool]:
    """What to call a step by what it is about, and whether such names are numbered."""
    for pattern, name in _NAMED:
        found = pattern.fullmatch(about)
        if found is not None:
            return name.format(*found.groups()), not found.groups()
    return "step", True
