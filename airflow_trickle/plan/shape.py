"""The numbers of components and groups, and the steps that tell of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from airflow_trickle.analysis.project import Analysis, PipelineAnalysis
from airflow_trickle.definition.settings import ALL_PASSES, Settings
from airflow_trickle.plan.steps import ComponentStep, GroupPartStep, GroupStep, MutualStep


class Shape:
    """Numbers the components and the groups of the planned pipelines, upstream first and from 1.

    Args:
        analysis: The project.
        settings: What holds where a pipeline says nothing.
        files: The pipelines that get a plan.
    """

    def __init__(self, analysis: Analysis, settings: Settings, files: Collection[str]) -> None:
        self._nodes = analysis.nodes
        self._pipelines = {one.pipeline.file: one.pipeline for one in analysis.pipelines}
        self._files = files
        self._settings = settings
        self._broken = frozenset(consumer for consumer, _ in analysis.strata.broken)
        self._parts = [part for part in analysis.order if any(self._is_planned(key) for key in part.members)]
        self._groups = [group for group in analysis.groups if any(self._is_planned(key) for key in group.members)]
        self._parts_of = self._by_file(part.members for part in self._parts)
        self._groups_of = self._by_file(group.members for group in self._groups)
        #: Table -> number of its cycle, of its group.
        self.cycle_of = {
            key: number for number, part in enumerate(self._parts, 1) if part.cyclic for key in part.members
        }
        self.group_of = {key: number for number, group in enumerate(self._groups, 1) for key in group.members}

    def _is_planned(self, key: str) -> bool:
        return self._nodes[key].file in self._files

    def _by_file(self, members: Iterable[Sequence[str]]) -> dict[str, list[int]]:
        """Pipeline -> the numbers, from 1, of those that have a table of it."""
        found: dict[str, list[int]] = {}
        for number, keys in enumerate(members, 1):
            for file in sorted({self._nodes[key].file for key in keys}):
                found.setdefault(file, []).append(number)
        return found

    def _identifier(self, key: str) -> str:
        return self._nodes[key].table.identifier

    def _identifiers(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._identifier(key) for key in keys)

    def components_of(self, file: str) -> tuple[ComponentStep, ...]:
        """The components that have a table of the pipeline."""
        return tuple(
            ComponentStep(
                id=number,
                members=self._identifiers(part.members),
                cyclic=part.cyclic,
                monotone=self._broken.isdisjoint(part.members),
                max_iterations=self.iterations_of(part.members),
            )
            for number, part in ((number, self._parts[number - 1]) for number in self._parts_of.get(file, ()))
        )

    def iterations_of(self, members: Sequence[str]) -> int:
        """The most that any member allows: a limit for one is no reason to stop the others early."""
        own = [self._nodes[key].table.max_fixpoint_iterations for key in members]
        given = [count for count in own if count is not None]
        if given:
            return max(given)
        pipeline = self._pipelines.get(self._nodes[members[0]].file)
        of_pipeline = None if pipeline is None else pipeline.overrides.max_fixpoint_iterations
        return of_pipeline or self._settings.max_fixpoint_iterations

    def passes_of(self, members: Sequence[str]) -> int | None:
        """How many passes one submission to Spark makes; None: all of them."""
        pipeline = self._pipelines.get(self._nodes[members[0]].file)
        of_pipeline = None if pipeline is None else pipeline.overrides.passes_per_submission
        found = of_pipeline or self._settings.passes_per_submission
        return None if found == ALL_PASSES else found

    def groups_of(self, file: str) -> tuple[GroupStep, ...]:
        """The groups that have a table of the pipeline."""
        return tuple(
            GroupStep(
                id=number,
                members=self._identifiers(group.members),
                convergence_points=self._identifiers(group.convergence_points),
                atomic=group.atomic,
                parts=tuple(
                    GroupPartStep(
                        pipeline=self._name(part.file),
                        members=self._identifiers(part.members),
                        atomic=part.atomic,
                        policy=part.policy,
                    )
                    for part in group.parts
                ),
            )
            for number, group in ((number, self._groups[number - 1]) for number in self._groups_of.get(file, ()))
        )

    def _name(self, file: str) -> str:
        pipeline = self._pipelines.get(file)
        return file if pipeline is None else pipeline.name

    def mutual_of(self, one: PipelineAnalysis) -> tuple[MutualStep, ...]:
        """The queries of a pipeline that were taken apart."""
        return tuple(
            MutualStep(table=each.table, groups=each.groups, members=dict(each.members), query=each.query)
            for each in one.mutual
        )
