"""Where in a query's text an operator stands, as a person would point at it."""

from __future__ import annotations

import re

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.nodes import JoinKind, LookupKind, Node, SetKind

_EXISTS = re.compile(r"\b(?:NOT\s+)?EXISTS\b", re.IGNORECASE)
_EXCEPT = re.compile(r"\b(?:EXCEPT|MINUS)\b", re.IGNORECASE)
_JOIN = re.compile(r"\b(?:LEFT|RIGHT|FULL|ANTI|SEMI|CROSS|INNER)\s+(?:(?:OUTER|ANTI|SEMI)\s+)?JOIN\b", re.IGNORECASE)
_LIMIT = re.compile(r"\bORDER\s+BY\b|\bLIMIT\b|\bOFFSET\b", re.IGNORECASE)
_PIVOT = re.compile(r"\bPIVOT\b", re.IGNORECASE)
_SUBQUERY = re.compile(r"\(\s*(?=SELECT\b|WITH\b|VALUES\b|FROM\b)", re.IGNORECASE)


def place_of(node: Node, text: str) -> int:
    """The offset of the word that makes a node what it is: EXCEPT, NOT EXISTS, LEFT JOIN, an aggregate.

    >>> from airflow_trickle.algebra.references import parse_query
    >>> text = "SELECT a FROM s EXCEPT SELECT a FROM t"
    >>> place_of(parse_query(text).tree, text)
    16
    """
    word = _word_of(node)
    if word is None:
        return node.offset
    last = node.offset
    for found in word.finditer(text, 0, node.offset):
        last = found.start()
    return last


def _word_of(node: Node) -> re.Pattern[str] | None:
    """What to look for before the first word inside a node, which is what the parser knows the place of."""
    match node:
        case nodes.SetOperation(kind=SetKind.EXCEPT):
            word = _EXCEPT
        case nodes.Join(origin=str(origin)):
            return _EXISTS if "EXISTS" in origin else None
        case nodes.Join(kind=kind) if kind is not JoinKind.CROSS:
            word = _JOIN
        case nodes.Lookup(kind=LookupKind.EXISTS):
            word = _EXISTS
        case nodes.Lookup(kind=LookupKind.SCALAR):
            word = _SUBQUERY
        case nodes.TopK():
            word = _LIMIT
        case nodes.Pivot():
            word = _PIVOT
        case _:
            return None
    return word
