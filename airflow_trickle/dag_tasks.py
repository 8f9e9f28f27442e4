"""The tasks of one pipeline: captures, the pin, a task per unit, task groups for strata and atomic groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from airflow.sdk import DAG, Asset, BaseOperator, TaskGroup, TriggerRule

from airflow_trickle.dag_docs import capture_doc, pin_doc, refresh_doc, stratum_doc
from airflow_trickle.notifications.non_convergence import OnNonConvergence
from airflow_trickle.operators.base import UnitOperator
from airflow_trickle.operators.capture import CaptureOperator
from airflow_trickle.operators.fixpoint import FixpointOperator
from airflow_trickle.operators.group import (
    GroupBeginOperator,
    GroupCleanupOperator,
    GroupCommitOperator,
    GroupFixpointOperator,
    GroupStageOperator,
)
from airflow_trickle.operators.pin import PinOperator
from airflow_trickle.operators.refresh import RefreshOperator
from airflow_trickle.operators.skipping import Watched
from airflow_trickle.plan.layers import layers_of
from airflow_trickle.plan.steps import Plan, RefreshStep, UnitKind
from airflow_trickle.plan.tolerance import tolerates
from airflow_trickle.sensors.stratum import StratumSkipSensor
from airflow_trickle.translator import Translator


@dataclass(frozen=True)
class _Unit:
    """The tasks of a unit: what waits for others, what others wait for, and all of them."""

    first: UnitOperator
    last: BaseOperator
    tasks: tuple[BaseOperator, ...]


@dataclass
class PipelineTasks:
    """Puts the tasks of a plan into its DAG.

    Args:
        dag: The DAG.
        plan: The plan.
        root: The folder from which files are shown.
        translator: Names and options of the tasks.
        on_non_convergence: What is called if something recursive does not settle.
    """

    dag: DAG
    plan: Plan
    root: str
    translator: Translator
    on_non_convergence: Callable[..., Any] | None = None
    _taken: set[str] = field(default_factory=set)
    _ids: dict[str, str] = field(default_factory=dict)
    _assets: dict[str, Asset] = field(default_factory=dict)

    def add(self) -> None:
        """Make all tasks and the edges between them."""
        # Tables first: what a table is called must not depend on what else there is.
        for step in self.plan.refreshes:
            for part in step.parts:
                self._ids[part.unit] = self._free(self.translator.task_id(self.plan, part))
        pin_id = self._free("pin")
        captures = self._captures()
        layers = layers_of(self.plan.refreshes)
        groups = self._strata(layers)
        units = {step.unit: self._unit(step, groups.get(layers[step.unit]), pin_id) for step in self.plan.refreshes}
        sensors = self._sensors(layers, groups, units, pin_id, captures)
        pin = self._pin(pin_id, layers, units, sensors, captures)
        self._connect(layers, units, sensors, pin, captures)

    def _free(self, wanted: str) -> str:
        """An id that no other task or group has; they share their ids, and a table may have any name."""
        found, number = wanted, 1
        while found in self._taken:
            number += 1
            found = f"{wanted}_{number}"
        self._taken.add(found)
        return found

    def asset(self, identifier: str) -> Asset | None:
        """The asset of a table, if it has one."""
        if identifier not in self._assets:
            uri = self.translator.asset_uri(self.plan, identifier)
            if uri is None:
                return None
            self._assets[identifier] = Asset(uri=uri, name=uri)
        return self._assets[identifier]

    # --- the tasks ---------------------------------------------------------------------------------

    def _captures(self) -> dict[str, BaseOperator]:
        """By identifier: the task that captures a source, before the pin."""
        return {
            step.identifier: CaptureOperator(
                task_id=self._free(self.translator.capture_id(self.plan, step)),
                step=step,
                catalog=self.plan.catalog,
                spark_conn_id=self.plan.spark_conn_id,
                doc_md=capture_doc(step, self.root),
                dag=self.dag,
            )
            for step in self.plan.captures
        }

    def _strata(self, layers: dict[str, int]) -> dict[int, TaskGroup]:
        """A task group per stratum, so that the graph shows them as layers; none where there is only one."""
        levels = sorted(set(layers.values()))
        if len(levels) < 2:
            return {}
        return {
            level: TaskGroup(
                self._free(self.translator.stratum_group_id(self.plan, level)),
                # A task keeps the name of its table, in whatever stratum that is.
                prefix_group_id=False,
                dag=self.dag,
                tooltip=f"Stratum {level}: complete before what subtracts from it or aggregates it begins.",
            )
            for level in levels
        }

    def _unit(self, step: RefreshStep, into: TaskGroup | None, pin_id: str) -> _Unit:
        if step.kind is UnitKind.GROUP:
            return self._group(step, into, pin_id)
        operator = FixpointOperator if step.kind is UnitKind.CYCLE else RefreshOperator
        task = operator(
            task_id=self._ids[step.unit],
            task_group=into,
            assets=self._outlets(step),
            doc_md=refresh_doc(step, self.root),
            **self._common(step, pin_id),
            **self._work(step),
        )
        return _Unit(task, task, (task,))

    def _common(self, step: RefreshStep, pin_id: str) -> dict[str, Any]:
        return {
            "step": step,
            "catalog": self.plan.catalog,
            "spark_conn_id": self.plan.spark_conn_id,
            "pin_task_id": pin_id,
            "dag": self.dag,
            # An input with nothing to do is no reason not to look.
            "trigger_rule": TriggerRule.NONE_FAILED,
        }

    def _work(self, step: RefreshStep) -> dict[str, Any]:
        """What only the tasks are told that compute something."""
        # On the tasks: callbacks of the run are not told what went wrong. A recursive query may fail to settle too.
        called = self.on_non_convergence
        alerts = {"on_failure_callback": OnNonConvergence(called)} if called else {}
        return {**alerts, **_owner(step), "inlets": self._inlets(step), **self.translator.task_options(self.plan, step)}

    def _outlets(self, step: RefreshStep) -> dict[str, Asset]:
        found = {table.name: self.asset(table.identifier) for table in step.tables}
        return {name: asset for name, asset in found.items() if asset is not None}

    def _inlets(self, step: RefreshStep) -> list[Asset]:
        own = {table.identifier for table in step.tables}
        read = sorted({ref.identifier for table in step.tables for ref in table.inputs} - own)
        return [asset for identifier in read if (asset := self.asset(identifier)) is not None]

    def _group(self, step: RefreshStep, into: TaskGroup | None, pin_id: str) -> _Unit:
        """begin (setup) >> a task per member >> commit >> cleanup (teardown)."""
        name = self._free(self.translator.group_id(self.plan, step))
        group = TaskGroup(
            name,
            prefix_group_id=False,
            dag=self.dag,
            parent_group=into,
            tooltip="Published all or nothing: readers never see its tables at different states of what they read.",
        )
        ids = {part: self._free(f"{name}.{part}") for part in ("begin", "commit", "cleanup")}
        stages = {part.unit: self._stage(step, part, group, pin_id) for part in step.parts}
        rest = [*(task.task_id for task in stages.values()), ids["commit"], ids["cleanup"]]
        common = {**self._common(step, pin_id), "task_group": group, **_owner(step)}
        doc = refresh_doc(step, self.root)
        begin = GroupBeginOperator(task_id=ids["begin"], rest=rest, doc_md=doc, **common)
        commit = GroupCommitOperator(
            task_id=ids["commit"],
            doc_md=doc,
            assets=self._outlets(step),
            **{**common, "trigger_rule": TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS},
        )
        del common["trigger_rule"]
        cleanup = GroupCleanupOperator(task_id=ids["cleanup"], doc_md=doc, **common)
        for part in step.parts:
            _after(stages[part.unit], [stages[unit] for unit in part.upstream] or [begin])
            if not part.upstream:
                # Airflow wants it so behind a setup, which is all that these wait for.
                stages[part.unit].trigger_rule = TriggerRule.ALL_SUCCESS
        _after(commit, stages.values())
        # Whatever became of them: none must still be at work.
        _after(cleanup, [*stages.values(), commit])
        begin.as_setup()  # type: ignore[no-untyped-call]
        cleanup.as_teardown(setups=begin)
        return _Unit(begin, commit, (begin, *stages.values(), commit, cleanup))

    def _stage(self, step: RefreshStep, part: RefreshStep, group: TaskGroup, pin_id: str) -> BaseOperator:
        operator = GroupFixpointOperator if part.kind is UnitKind.CYCLE else GroupStageOperator
        return operator(
            task_id=self._ids[part.unit],
            member=part.unit,
            task_group=group,
            doc_md=refresh_doc(part, self.root),
            **self._common(step, pin_id),
            **self._work(part),
        )

    def _sensors(
        self,
        layers: dict[str, int],
        groups: dict[int, TaskGroup],
        units: dict[str, _Unit],
        pin_id: str,
        captures: dict[str, BaseOperator],
    ) -> dict[int, BaseOperator]:
        """By layer above the first: the task that looks whether it has anything to do."""
        if not self.plan.enable_stratum_skip:
            return {}
        watched = self._watched(layers, units)
        return {
            layer: StratumSkipSensor(
                task_id=self._free(self.translator.sensor_id(self.plan, layer)),
                task_group=groups[layer],
                stratum=layer,
                watched=[one for one in watched if one.layer == layer],
                catalog=self.plan.catalog,
                spark_conn_id=self.plan.spark_conn_id,
                pin_task_id=pin_id,
                captures={name: task.task_id for name, task in captures.items()},
                doc_md=stratum_doc(layer, [one.step for one in watched if one.layer == layer]),
                # A table that failed holds up what reads it, and not the whole stratum.
                trigger_rule=TriggerRule.ALL_DONE,
                poke_interval=1,
                dag=self.dag,
            )
            for layer in sorted(set(layers.values()))[1:]
        }

    def _watched(self, layers: dict[str, int], units: dict[str, _Unit]) -> list[Watched]:
        return [
            Watched(
                step,
                tuple(task.task_id for task in units[step.unit].tasks),
                layers[step.unit],
                tuple(units[name].last.task_id for name in step.upstream if layers[name] < layers[step.unit]),
            )
            for step in self.plan.refreshes
        ]

    def _pin(
        self,
        pin_id: str,
        layers: dict[str, int],
        units: dict[str, _Unit],
        sensors: dict[int, BaseOperator],
        captures: dict[str, BaseOperator],
    ) -> BaseOperator:
        # A capture that failed holds up only what reads its source; the rest is pinned and refreshed all the same.
        rule = {"trigger_rule": TriggerRule.ALL_DONE} if captures else {}
        return PinOperator(
            task_id=pin_id,
            step=self.plan.pin,
            catalog=self.plan.catalog,
            spark_conn_id=self.plan.spark_conn_id,
            watched=self._watched(layers, units),
            looks=self.plan.enable_stratum_skip,
            plan=self.plan,
            sensors={layer: task.task_id for layer, task in sensors.items()},
            captures={name: task.task_id for name, task in captures.items()},
            doc_md=pin_doc(self.plan.pin),
            dag=self.dag,
            **rule,
        )

    # --- the edges ---------------------------------------------------------------------------------

    def _connect(
        self,
        layers: dict[str, int],
        units: dict[str, _Unit],
        sensors: dict[int, BaseOperator],
        pin: BaseOperator,
        captures: dict[str, BaseOperator],
    ) -> None:
        _after(pin, captures.values())
        steps = {step.unit: step for step in self.plan.refreshes}
        loose = False
        for step in self.plan.refreshes:
            unit, layer = units[step.unit], layers[step.unit]
            _after(unit.first, [units[name].last for name in step.upstream] or [pin])
            if layer in sensors:
                _after(unit.first, [sensors[layer]])
                below = [units[name].last for name in step.upstream if layers[name] < layer]
                _after(sensors[layer], below or [pin])
            reads = {ref.identifier for table in step.tables for ref in table.inputs}
            captured = [captures[identifier] for identifier in sorted(reads & captures.keys())]
            _after(unit.first, captured)
            needed = [units[name].last for name in step.upstream if not tolerates(step, steps[name])]
            if len(needed) < len(step.upstream):
                # It goes on without the others, and says in its history that they were behind.
                unit.first.trigger_rule = TriggerRule.ALL_DONE
                unit.first.needs = tuple(task.task_id for task in (*needed, *captured))
                loose = True
        if loose or sensors:
            self._watch([*captures.values(), *(unit.last for unit in units.values())])

    def _watch(self, tasks: Iterable[BaseOperator]) -> None:
        """A last task that fails with any other: a run is what its last tasks are, and those may all be skipped."""
        from airflow.providers.standard.operators.empty import EmptyOperator

        last = EmptyOperator(
            task_id=self._free("all_refreshed"),
            dag=self.dag,
            trigger_rule=TriggerRule.NONE_FAILED,
            doc_md="Fails with any table or capture, also if what reads it was skipped or went on without it.",
        )
        _after(last, tasks)


def _after(task: BaseOperator, upstream: Iterable[BaseOperator]) -> None:
    """What ``upstream >> task`` does, but Airflow's own looks at every task of the DAG for each edge."""
    for before in upstream:
        before.downstream_task_ids.add(task.task_id)
        task.upstream_task_ids.add(before.task_id)


def _owner(step: RefreshStep) -> dict[str, str]:
    owners = sorted({table.owner for table in step.tables if table.owner})
    return {"owner": ", ".join(owners)} if owners else {}
