"""Small random graphs of tables for the tests of the analysis."""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st


def read_of(text):
    """Reads as a drawing: ``s>ab a>c`` says that ``a`` and ``b`` read ``s``, and ``c`` reads ``a``.

    Only what stands on the right of an arrow is a table.
    """
    reads = {}
    for part in text.split():
        name, _, readers = part.partition(">")
        for reader in readers:
            reads.setdefault(reader, []).append(name)
    return reads


def reachable(edges):
    """Node -> everything that it leads to over one edge or more, by brute force."""
    nodes = sorted({*edges, *(up for ups in edges.values() for up in ups)})
    reached = {node: set(edges.get(node, ())) for node in nodes}
    for middle, node in product(nodes, nodes):
        if middle in reached[node]:
            reached[node] |= reached[middle]
    return reached


@st.composite
def graphs(draw, most=9, backwards=2):
    """What each table reads: mostly upstream, a few times the other way round, in shuffled names and order."""
    size = draw(st.integers(1, most))
    ups = [draw(st.sets(st.integers(-3, number - 1), max_size=4)) for number in range(size)]
    for low, high in draw(st.lists(st.tuples(*[st.integers(0, size - 1)] * 2), max_size=backwards)):
        ups[min(low, high)].add(max(low, high))
    names = draw(st.permutations([f"t{number}" for number in range(size)]))
    reads = {names[at]: [names[up] if up >= 0 else f"s{-up}" for up in sorted(found)] for at, found in enumerate(ups)}
    return {name: reads[name] for name in draw(st.permutations(sorted(reads)))}


def shuffled(reads):
    """The same graph, its tables and their inputs in the opposite order."""
    return {name: list(reads[name])[::-1] for name in list(reads)[::-1]}
