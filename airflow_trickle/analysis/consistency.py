"""Which diamonds are published in one commit, and why others are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airflow_trickle.analysis.components import Component
from airflow_trickle.analysis.graph import Node
from airflow_trickle.analysis.groups import Group, find_groups
from airflow_trickle.definition.words import listed

_SHOWN = 6


@dataclass(frozen=True)
class GroupPart:
    """The tables of a group that one pipeline can publish together."""

    file: str
    members: tuple[str, ...]
    convergence_points: tuple[str, ...]
    atomic: bool
    #: slowest or fastest.
    policy: str


@dataclass(frozen=True)
class ConsistencyGroup:
    """The tables of one diamond, or of several that overlap; by folded identifier, upstream first."""

    members: tuple[str, ...]
    convergence_points: tuple[str, ...]
    #: Whether all of them are published in one commit.
    atomic: bool
    #: What of it is published together: all of it, or the diamonds inside single pipelines.
    parts: tuple[GroupPart, ...]
    #: File of a pipeline -> what to tell.
    warnings: tuple[tuple[str, str], ...] = ()


def consistency_groups(
    order: Sequence[Component],
    reads: Mapping[str, Sequence[str]],
    nodes: Mapping[str, Node],
    default: Mapping[str, str],
) -> tuple[ConsistencyGroup, ...]:
    """The groups of a project.

    A group inside one pipeline is atomic if all its members are; one that says none dissolves it. No
    commit spans pipelines, so of a group over several of them the diamonds inside each are kept.

    Args:
        order: The components of all stream tables, upstream first.
        reads: What each table reads.
        nodes: The tables.
        default: File of a pipeline -> its `diamond_consistency`.
    """
    found: list[ConsistencyGroup] = []
    for group in find_groups(order, reads):
        files = sorted({nodes[key].file for key in group.members})
        if len(files) == 1:
            part = _part(files[0], group, nodes, default)
            warnings = tuple(_dissolved(part, nodes, default))
            found.append(ConsistencyGroup(group.members, group.convergence_points, part.atomic, (part,), warnings))
            continue
        parts = tuple(part for file in files for part in _local(file, group, order, reads, nodes, default))
        warnings = tuple((file, _spread(group, nodes)) for file in files)
        warnings += tuple(warning for part in parts for warning in _dissolved(part, nodes, default))
        found.append(ConsistencyGroup(group.members, group.convergence_points, False, parts, warnings))
    return tuple(found)


def _local(
    file: str,
    group: Group,
    order: Sequence[Component],
    reads: Mapping[str, Sequence[str]],
    nodes: Mapping[str, Node],
    default: Mapping[str, str],
) -> list[GroupPart]:
    """The diamonds of one pipeline, to which the tables of others are sources."""
    own = {key for key in group.members if nodes[key].file == file}
    inner = [part for part in order if own.issuperset(part.members)]
    return [_part(file, one, nodes, default) for one in find_groups(inner, {key: reads[key] for key in own})]


def _part(file: str, group: Group, nodes: Mapping[str, Node], default: Mapping[str, str]) -> GroupPart:
    atomic = all((nodes[key].table.diamond_consistency or default[file]) == "atomic" for key in group.members)
    # The tables where paths meet decide; where they differ, the slower policy is the safer one.
    policies = {nodes[key].table.diamond_schedule_policy for key in group.convergence_points}
    policy = "fastest" if policies == {"fastest"} else "slowest"
    return GroupPart(file, group.members, group.convergence_points, atomic, policy)


def _dissolved(part: GroupPart, nodes: Mapping[str, Node], default: Mapping[str, str]) -> list[tuple[str, str]]:
    alone = [key for key in part.members if (nodes[key].table.diamond_consistency or default[part.file]) == "none"]
    if not alone or len(alone) == len(part.members):
        return []
    names = listed([f"'{nodes[key].table.name}'" for key in alone])
    have = "has" if len(alone) == 1 else "have"
    return [
        (
            part.file,
            f"{_names(part.members, nodes)} form a diamond, but are published one by one, because {names} {have} "
            "diamond_consistency: none; for a while a reader may see them at different versions.",
        )
    ]


def _spread(group: Group, nodes: Mapping[str, Node]) -> str:
    return (
        f"{_names(group.members, nodes, full=True)} form a diamond over several pipelines, each of which publishes its "
        "tables by itself: for a while a reader may see them at different versions. Put them into one pipeline to "
        "publish them together."
    )


def _names(members: Sequence[str], nodes: Mapping[str, Node], *, full: bool = False) -> str:
    tables = [nodes[key].table for key in members[:_SHOWN]]
    shown = [f"'{table.identifier if full else table.name}'" for table in tables]
    return listed(shown + ([f"{len(members) - _SHOWN} more"] if len(members) > _SHOWN else []))
