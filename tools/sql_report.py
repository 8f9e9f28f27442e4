"""Asks a real Spark and our parser what they make of every query of the corpora; writes docs/sql-corpora.md."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.nodes import Node
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.modes import choose_mode, obstacles_of_query
from airflow_trickle.analysis.monotonicity import reads_of, short_name
from airflow_trickle.analysis.strata import EdgeType
from airflow_trickle.spark import embedded
from airflow_trickle.spark.conf import set_conf
from airflow_trickle.spark.session import close, connect
from airflow_trickle.spark.target import SparkTarget
from tools.sql_corpora import ADAPTATIONS, NO_TREE, ROOT, Corpus, Query, corpora

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPORT = ROOT / "docs" / "sql-corpora.md"
#: Plans are compared as text, so none of it may be left out; how Spark would run them is not asked.
_SETTINGS = {"spark.sql.maxPlanStringLength": "10000000", "spark.sql.optimizer.maxIterations": "1"}
_ANALYZED = re.compile(r"== Analyzed Logical Plan ==\n(.*?)\n== Optimized Logical Plan ==", re.DOTALL)
_VIEW = re.compile(r"\bView \(`([^`]+)`")


@dataclass(frozen=True)
class Answer:
    """What Spark says: the text it took (the original if it took none), changed or not, or why it refuses."""

    text: str
    adapted: bool = False
    refused: str | None = None
    #: The analyzed plan; empty if Spark does not show one.
    plan: str = ""


@dataclass(frozen=True)
class Verdict:
    """What our parser makes of a query."""

    #: Why the tree is not complete; None if it is.
    gap: str | None
    mode: str
    tables: frozenset[str]
    #: The tables of which a row more may take a row away, and because of what operator.
    non_monotone: tuple[str, ...]


def ask(session: SparkSession, corpus: Corpus) -> dict[str, Answer]:
    """Has Spark analyze every query over empty views of the right types; nothing is executed."""
    set_conf(session, _SETTINGS)
    for table, columns in corpus.tables.items():
        values = ", ".join(f"CAST(NULL AS {kind}) AS `{column}`" for column, kind in columns.items())
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW `{table}` AS SELECT {values} WHERE false")
    return {query.name: _ask_twice(session, query) for query in corpus.queries}


def _ask_twice(session: SparkSession, query: Query) -> Answer:
    """As it is, then adapted, if there is an adaptation that changes it."""
    first = ask_once(session, query.text)
    adapted = query.text
    for one in ADAPTATIONS:
        adapted = one.pattern.sub(one.replacement, adapted)
    if first.refused is None or adapted == query.text:
        return first
    second = ask_once(session, adapted)
    return first if second.refused else Answer(adapted, adapted=True, refused=first.refused, plan=second.plan)


def ask_once(session: SparkSession, text: str) -> Answer:
    """Has Spark analyze one text."""
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.plan import SQL

    # What session.sql does would analyze it first, and explain() once more.
    frame: Any = DataFrame(SQL(text, None, None, None), cast(Any, session))
    try:
        found = _ANALYZED.search(frame._explain_string(extended=True))
    except PySparkException as error:
        return Answer(text, refused=error.getCondition() or type(error).__name__)
    return Answer(text, plan=found[1] if found else "")


def tables_of_plan(plan: str) -> frozenset[str]:
    """The views that an analyzed plan reads, in lower case."""
    return frozenset(name.casefold() for name in _VIEW.findall(plan))


def judge(text: str) -> Verdict:
    """Our part, which needs no Spark."""
    query = parse_query(text)
    if query.tree is None:
        return Verdict("refused: " + " ".join(problem.message for problem in query.problems), "", frozenset(), ())
    reasons = dict.fromkeys(node.why for node in every_node(query.tree) if isinstance(node, nodes.Opaque))
    obstacles = obstacles_of_query(query)
    mode = choose_mode("AUTO", obstacles).mode
    why = "; ".join(dict.fromkeys(obstacle.why for obstacle in obstacles))
    names = {ref.start: ref.name.casefold() for ref in query.references}
    reads = reads_of(query.tree)
    negative = {
        f"{names[at]} ({(read.operator and short_name(read.operator)) or 'opaque'})"
        for at, read in reads.items()
        if read.type is EdgeType.NON_MONOTONE
    }
    return Verdict(
        f"opaque: {'; '.join(reasons)}" if reasons else None,
        f"{mode}: {why}" if why else mode,
        frozenset(names.values()),
        tuple(sorted(negative)),
    )


def every_node(tree: Node) -> Iterator[Node]:
    """The nodes of a tree; a named part once, where it is defined, even if nothing reads it."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, nodes.With):
            stack.extend(cte.node for cte in node.ctes)
        if not isinstance(node, nodes.CteScan):
            stack.extend(nodes.children(node))


def report(answers: Iterable[tuple[Corpus, Mapping[str, Answer]]]) -> str:
    """The page, with a table for each corpus."""
    sections: list[str] = []
    counts: list[tuple[str, list[int]]] = []
    for corpus, given in answers:
        rows = [(query.name, given[query.name], judge(given[query.name].text)) for query in corpus.queries]
        taken = [verdict for _, answer, verdict in rows if _is_taken(answer)]
        adapted = sum(answer.adapted for _, answer, _ in rows)
        complete = sum(verdict.gap is None for verdict in taken)
        counts.append((corpus.title, [len(rows), len(taken) - adapted, adapted, len(rows) - len(taken), complete]))
        sections += [f"## {corpus.title}", corpus.about, "\n".join(_table(rows))]
    total = [sum(column) for column in zip(*(numbers for _, numbers in counts), strict=True)]
    return "\n\n".join([*_head(counts, total), *sections]) + "\n"


def _is_taken(answer: Answer) -> bool:
    return answer.adapted or answer.refused is None


def _head(counts: list[tuple[str, list[int]]], total: list[int]) -> list[str]:
    import pyspark

    every, as_is, adapted, _, complete = total
    table = ["| corpus | queries | Spark: as is | adapted | refused | complete trees of the accepted |"]
    table += ["|---|---|---|---|---|---|"]
    for title, (queries, plain, changed, refused, trees) in [*counts, ("all", total)]:
        table.append(f"| {title} | {queries} | {plain} | {changed} | {refused} | {trees} of {plain + changed} |")
    changes = [f"| {_cell(one.what)} | {one.why} |" for one in ADAPTATIONS]
    gaps = [f"| {_cell(name)} | {_cell(why)} |" for name, why in sorted(NO_TREE.items())]
    return [
        "# SQL corpora",
        f"Of {every} queries Spark {pyspark.__version__} accepts {as_is + adapted}, {adapted} of them after a small "
        f"change; of these, {complete} give a complete operator tree, and {as_is + adapted - complete} do not, for "
        "reasons given below.",
        "Written by `make sql-report`; a test compares it with what Spark and the parser say. Spark analyzes each "
        "query over empty views; nothing is executed.",
        "\n".join(table),
        "What was changed where Spark refuses the original text:",
        "\n".join(["| change | why |", "|---|---|", *changes]),
        "Queries that give no complete tree, all from our own corpus. What is opaque is recomputed in full; what is "
        "refused is no stream table:",
        "\n".join(["| query | why |", "|---|---|", *gaps]),
        "In the tables below, *mode* is what `refresh_mode: AUTO` chooses. The last column names the tables of which "
        "a row more may take a row out of the result, and the operator that may do so: a cycle of stream tables "
        "through such a read is not monotone.",
    ]


def _table(rows: list[tuple[str, Answer, Verdict]]) -> Iterator[str]:
    yield "| query | Spark | tree | mode | non-monotone reads |"
    yield "|---|---|---|---|---|"
    for name, answer, verdict in rows:
        spark = "as is" if answer.refused is None else f"{answer.refused}"
        spark = f"adapted ({spark})" if answer.adapted else spark if answer.refused is None else f"refused ({spark})"
        seen = tables_of_plan(answer.plan)
        tree = verdict.gap or "complete"
        if answer.plan and verdict.tables != seen and not tree.startswith("refused"):
            tree += f"; reads {_listed(verdict.tables)}, to Spark {_listed(seen)}"
        cells = (name, spark, tree, verdict.mode, ", ".join(verdict.non_monotone))
        yield f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ") or "–"  # noqa: RUF001


def main() -> None:
    """Write the report."""
    home = tempfile.TemporaryDirectory(prefix="trickle-report-")
    # A server of its own: what it says must not depend on the settings of another.
    with home, mock.patch.dict(os.environ, {"TRICKLE_SPARK_HOME": home.name}):
        try:
            answers = [(corpus, _ask_all(corpus)) for corpus in corpora()]
        finally:
            embedded.stop()
    text = report(answers)
    REPORT.write_text(text, encoding="utf-8")
    print(f"{REPORT.relative_to(ROOT)} is written: {text.splitlines()[2]}", flush=True)


def _ask_all(corpus: Corpus) -> dict[str, Answer]:
    print(f"Asking Spark about {len(corpus.queries)} queries of {corpus.title}", flush=True)
    session = connect(SparkTarget(), app="sql-report")
    try:
        return ask(session, corpus)
    finally:
        close(session)


if __name__ == "__main__":
    main()
