"""The columns of members: what their queries give, where these read the members themselves."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Column, Views
from airflow_trickle.engine.failures import translate
from airflow_trickle.engine.fixpoint.rules import Member, Rule
from airflow_trickle.engine.fixpoint.sql import RuleSql, World, written_names
from airflow_trickle.errors import RefreshFailed
from airflow_trickle.identifiers import fold, quote, split_dotted, unquote

#: A decimal may gain a digit with every round, up to 38.
_ROUNDS = 60


def find_columns(
    bench: SparkBench, members: Mapping[str, Member], world: World, keys: Mapping[str, str]
) -> dict[str, list[Column]]:
    """The columns of every member: those of the parts that need no member first, then of all, until they settle.

    Raises:
        RefreshFailed: a member has no part to begin with, or its types grow for ever.
        QueryRejected: Spark does not accept the query of a member.
    """
    known: dict[str, list[Column]] = {}
    for _ in range(_ROUNDS):
        before = dict(known)
        views = {key: _empty(bench, columns) for key, columns in known.items()}
        for key, member in members.items():
            rules = [rule for rule in member.rules or member.typing if rule.members <= known.keys()]
            found = _columns(bench, member, rules, world, views, keys)
            if found is not None:
                known[key] = found
                views[key] = _empty(bench, found)
        if known == before:
            break
    else:
        names = ", ".join(sorted(member.name for key, member in members.items()))
        raise RefreshFailed(
            f"The types of the columns of {names} grow with every pass. Give them a fixed type with CAST(… AS …)."
        )
    missing = [member.name for key, member in members.items() if key not in known]
    if missing:
        raise RefreshFailed(
            f"The columns of {', '.join(missing)} cannot be told: every part of the query reads the cycle itself. "
            f"Add a part that reads another table, such as SELECT … FROM … UNION …."
        )
    return known


def _columns(
    bench: SparkBench,
    member: Member,
    rules: list[Rule],
    world: World,
    views: Mapping[str, Views],
    keys: Mapping[str, str],
) -> list[Column] | None:
    if not rules:
        return None
    try:
        texts = [RuleSql(rule, world, views, keys).whole() for rule in rules]
        found = bench.columns(" UNION ALL ".join(f"SELECT * FROM ({text})" for text in texts))
    except NotInBlocks as error:
        # There is no other way to find the columns: what Spark does not accept is the query itself.
        if not isinstance(error.__cause__, Exception):
            raise
        raise translate(error.__cause__, member.text.step, "") from error.__cause__
    names = _names(member) or [column.name for column in found]
    if len(names) != len(found):
        raise RefreshFailed(f"{member.name} has {len(names)} names for {len(found)} columns.")
    for column in found:
        if "void" in column.type:
            raise RefreshFailed(
                f"Column '{column.name}' of {member.name} is NULL without a type; write CAST(NULL AS …)."
            )
    return [Column(name, column.type) for name, column in zip(names, found, strict=True)]


def _names(member: Member) -> list[str] | None:
    """The names that the text gives: a list behind the name, else those of its first SELECT; None if it has a star."""
    if member.columns:
        return [unquote(part) for part in split_dotted(member.columns)]
    return written_names(member.text.blocks, member.query)


def _empty(bench: SparkBench, columns: list[Column]) -> Views:
    shown = ", ".join(f"CAST(NULL AS {column.type}) AS {quote(column.name)}" for column in columns)
    view = bench.promise(lambda: bench.frame(f"SELECT {shown} WHERE false"))
    return Views(view, view, None, types={fold(column.name): column.type for column in columns})
