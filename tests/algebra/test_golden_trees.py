"""Operator trees of many queries, as texts to read: ``golden/trees/*.txt``.

An entry is a title, a query, its tree, how each table is read, and what keeps it from being refreshed from
changes. With TRICKLE_UPDATE_GOLDEN=1 the files are written anew from their titles and queries: read the
difference before you commit it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.algebra.render import tree_text
from airflow_trickle.analysis.modes import obstacles_of_query
from airflow_trickle.analysis.monotonicity import reads_of

FOLDER = Path(__file__).parent / "golden" / "trees"


@dataclass(frozen=True)
class Entry:
    title: str
    query: str
    expected: str


def entries(file):
    """The entries of a file: a title behind #, the query up to an empty line, the rest is what is expected."""
    for part in f"\n{file.read_text(encoding='utf-8')}".split("\n# ")[1:]:
        title, _, rest = part.strip("\n").partition("\n")
        query, _, expected = rest.partition("\n\n")
        yield Entry(title, query, expected)


def found(query):
    parsed = parse_query(query)
    assert parsed.problems == ()
    reads = reads_of(parsed.tree)
    lines = []
    for ref in parsed.references:
        read = reads.get(ref.start)
        lines.append(f"{ref.name}: {f'{read.type.value} because {read.because}' if read else 'read by nothing'}")
    lines += [f"full because {one.why}" for one in obstacles_of_query(parsed)]
    tree = "\n".join(f"    {line}".rstrip() for line in tree_text(parsed.tree).splitlines())
    return "\n\n".join(part for part in (tree, "\n".join(lines)) if part)


def written(entry):
    return f"# {entry.title}\n{entry.query}\n\n{found(entry.query)}\n"


FILES = sorted(FOLDER.glob("*.txt"))
if os.environ.get("TRICKLE_UPDATE_GOLDEN") == "1":
    for one in FILES:
        one.write_text("\n".join(written(entry) for entry in entries(one)), encoding="utf-8")
ALL = [(file, entry) for file in FILES for entry in entries(file)]


@pytest.mark.parametrize(("file", "entry"), ALL, ids=[f"{file.stem}: {entry.title}" for file, entry in ALL])
def test_the_tree_of_a_query_is_the_one_that_was_read_and_found_good(file, entry):
    assert found(entry.query) == entry.expected


def test_titles_tell_the_entries_of_a_file_apart():
    titles = [(file.stem, entry.title) for file, entry in ALL]
    assert len(set(titles)) == len(titles) >= 80


def test_every_kind_of_node_is_shown():
    seen = set()
    for _, entry in ALL:
        stack = [parse_query(entry.query).tree]
        while stack:
            node = stack.pop()
            seen.add(type(node))
            stack += nodes.children(node)
    assert seen == set(nodes.Node.__args__)
