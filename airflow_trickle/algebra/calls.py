"""The name of a function as the text has it, and its place: the parser keeps neither for some of them."""

from __future__ import annotations

import re

from sqlglot import exp

from airflow_trickle.identifiers import unquote

#: What sqlglot reads by a grammar of its own, and so without a place -> all names that lead there.
_GRAMMARS: dict[type[exp.Expr], str] = {
    exp.ApproxQuantile: "approx_percentile|percentile_approx",
    exp.ArgMax: "max_by|argmax|arg_max",
    exp.ArgMin: "min_by|argmin|arg_min",
    exp.GapFill: "gap_fill",
    exp.GroupConcat: "listagg|string_agg",
    exp.JSONObject: "json_object",
    exp.JSONObjectAgg: "json_objectagg",
    exp.JSONTable: "json_table",
    exp.MatchAgainst: "match",
    exp.Normalize: "normalize",
    exp.OpenJSON: "openjson",
    exp.Quantile: "percentile",
    exp.WeightString: "weight_string",
    exp.XMLElement: "xmlelement",
    **dict.fromkeys((exp.Cast, exp.TryCast, exp.CastToStrType), "cast|try_cast|safe_cast|convert|try_convert"),
}
_PATTERNS = {names: re.compile(rf"(?<![\w.])(?:{names})(?=`?\s*\()", re.I) for names in set(_GRAMMARS.values())}


def call_of(node: exp.Expr, text: str) -> str | None:
    """The name by which the text calls a function; None for syntax such as CASE. The node then knows its place.

    >>> from sqlglot import parse_one
    >>> text = "SELECT string_agg(x)"
    >>> call = parse_one(text, read="spark").expressions[0]
    >>> call_of(call, text), call.meta["start"]
    ('string_agg', 7)
    """
    around = node.parent
    if isinstance(around, exp.IgnoreNulls) and "start" in around.meta:
        # first(x, true): the parser makes first(x) IGNORE NULLS of it, and gives that its place.
        node.meta.update(start=around.meta["start"], end=around.meta["end"])
    if "start" not in node.meta:
        names = _GRAMMARS.get(type(node))
        found = None if names is None else _last_before(_PATTERNS[names], text, _first_place(node))
        if found is None:
            return None
        node.meta.update(start=found.start(), end=found.end() - 1)
    start, end = node.meta["start"], node.meta.get("end")
    return None if end is None else unquote(text[start : end + 1])


def _first_place(node: exp.Expr) -> int | None:
    """Where the first of its arguments that has a place stands."""
    return min((part.meta["start"] for part in node.walk() if "start" in part.meta), default=None)


def _last_before(pattern: re.Pattern[str], text: str, place: int | None) -> re.Match[str] | None:
    """The call nearest before its arguments; without them, the first of the text."""
    found = None
    for match in pattern.finditer(text, 0, len(text) if place is None else place):
        found = match
        if place is None:
            break
    return found
