"""The members of a unit and how they can be brought to their fixed point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.fixpoint.finding import Finder
from airflow_trickle.engine.fixpoint.rules import Member, Text, text_of
from airflow_trickle.errors import RefreshFailed
from airflow_trickle.plan.steps import RefreshStep, UnitKind

_NON_MONOTONE = "NON_MONOTONE"


@dataclass(frozen=True)
class System:
    """What is recursive in a unit.

    Attributes:
        step: The unit.
        texts: The queries of its tables, by identifier.
        keys: Identifier of a table -> key of its member, for tables that are part of a cycle.
        members: By key, in the order in which they are done: hidden ones before those that read them.
        why_naive: Why every pass computes everything anew; empty if rules do.
        counted: Whether copies count on the way round.
    """

    step: RefreshStep
    texts: Mapping[str, Text]
    keys: Mapping[str, str]
    members: Mapping[str, Member]
    why_naive: str
    counted: bool = False


def system_of(step: RefreshStep) -> System:
    """The members of a unit.

    Raises:
        RefreshFailed: a query cannot be taken apart.
    """
    cyclic = step.kind is UnitKind.CYCLE
    keys = {table.identifier: table.identifier for table in step.tables} if cyclic else {}
    finder = Finder(keys)
    texts: dict[str, Text] = {}
    for table in step.tables:
        try:
            texts[table.identifier] = text_of(table)
            finder.add(texts[table.identifier], is_member=cyclic)
        except NotInBlocks as error:
            raise RefreshFailed(
                f"{table.declared_at}: stream table '{table.name}' cannot be brought to its fixed point: {error.why}."
            ) from error
    members = dict(finder.found)
    why = _why_naive(step, members)
    counted = False
    if not why:
        try:
            bag_order(members)
        except CycleError:
            counted = all(member.is_sum and member.best is None for member in members.values())
            why = "" if counted else "on some ways round copies count, on others they are removed"
    return System(step, texts, keys, members, why, counted)


def _why_naive(step: RefreshStep, members: Mapping[str, Member]) -> str:
    for member in members.values():
        if not member.rules:
            return f"{member.name} is not a union of SELECTs: {member.why_not}"
    for table in step.tables:
        for edge in table.edges:
            if edge.identifier in members and edge.type == _NON_MONOTONE:
                return f"{table.name} reads {edge.identifier} where more rows may take rows away"
    for member in members.values():
        hidden = {key for rule in member.rules for key in rule.deep if members[key].step is None}
        if hidden or (member.step is None and any(rule.deep for rule in member.rules)):
            return f"{member.name} reads rows of a recursion in a subquery"
    return ""


def bag_order(members: Mapping[str, Member]) -> list[str]:
    """Members in which a row may be there twice, each after those of them that it reads.

    Raises:
        CycleError: they read each other.
    """
    bags = {key: member for key, member in members.items() if not member.distinct}
    return list(TopologicalSorter({key: member.reads & bags.keys() for key, member in bags.items()}).static_order())


def layers(members: Mapping[str, Member]) -> list[list[str]]:
    """The members in layers: those that read each other in one, after all that they read.

    What a layer reads must not change any more while it settles: a row that is there for a while could lead to others
    that then hold up themselves.
    """
    reads = {key: set(member.members_inside & members.keys()) for key, member in members.items()}
    reached = {key: set(found) for key, found in reads.items()}
    for middle in members:
        for key in members:
            if middle in reached[key]:
                reached[key] |= reached[middle]
    of = {key: next(o for o in members if o == key or (o in reached[key] and key in reached[o])) for key in members}
    graph: dict[str, set[str]] = {first: set() for first in of.values()}
    for key, found in reads.items():
        graph[of[key]] |= {of[other] for other in found if of[other] != of[key]}
    return [[key for key in members if of[key] == first] for first in TopologicalSorter(graph).static_order()]
