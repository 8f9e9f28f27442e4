"""Compares, quotes and unquotes SQL identifiers the way Spark does.

Spark's resolver ignores case by lower-casing. Full case folding would also make ``maß`` and ``mass`` one name, which
are two columns to Spark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_IDENTIFIER = r"`(?:[^`]|``)*`|[^\s`(),.]+"
_RELATION_ALIAS = re.compile(
    rf"\s*(?:AS(?=[\s`])\s*)?(?P<name>{_IDENTIFIER})\s*(?:\((?P<columns>.*)\)\s*)?", re.IGNORECASE | re.DOTALL
)
_PART = re.compile(_IDENTIFIER)


@dataclass(frozen=True)
class RelationAlias:
    """An alias of a relation: its name, and its list of columns as written, if there is one."""

    name: str
    columns: tuple[str, ...] = ()


def fold(name: str) -> str:
    """The key under which two spellings of a name are one name.

    >>> fold("Orders") == fold("ORDERS"), fold("maß") == fold("mass")
    (True, False)
    """
    return name.lower()


def quote(name: str) -> str:
    """A name as SQL wants it, whatever is in it.

    >>> quote("count(1)"), quote("a`b")
    ('`count(1)`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def unquote(text: str) -> str:
    """The name that a word of a query stands for.

    >>> unquote("`a``b`"), unquote("```x`"), unquote("plain")
    ('a`b', '`x', 'plain')
    """
    if len(text) >= 2 and text[0] == text[-1] == "`":
        return text[1:-1].replace("``", "`")
    return text


def split_dotted(text: str) -> tuple[str, ...]:
    """The parts of a dotted name as written.

    >>> split_dotted("db . `a b`.x")
    ('db', '`a b`', 'x')
    """
    return tuple(_PART.findall(text))


def parse_alias(text: str) -> RelationAlias:
    """The alias of a relation, as it stands behind the relation.

    >>> parse_alias("AS `a (b)` (x, `y,z`)")
    RelationAlias(name='a (b)', columns=('x', '`y,z`'))
    """
    match = _RELATION_ALIAS.fullmatch(text)
    if match is None:
        raise ValueError(f"not an alias of a relation: {text!r}")
    return RelationAlias(unquote(match["name"]), split_dotted(match["columns"] or ""))
