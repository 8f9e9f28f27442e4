"""The Python API, for notebooks, tests and the command line."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_trickle.definition.maintenance import MaintenancePolicy
from airflow_trickle.errors import DefinitionError, Position, Problem, TrickleError
from airflow_trickle.plan.build import PlannedProject, plan_path
from airflow_trickle.plan.steps import Plan
from airflow_trickle.results import (
    Iteration,
    MaintainedTable,
    Maintenance,
    RestatedTable,
    Status,
    TableResult,
    TableState,
    Verification,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_trickle.engine.explain import ExplainedChange
    from airflow_trickle.engine.validation.report import Report
    from airflow_trickle.spark.session import SparkProvider


class Pipeline:
    """A pipeline as its YAML file defines it.

    >>> from airflow_trickle import Pipeline
    >>> results = Pipeline.load("dags/webshop.yaml").tick()                       # doctest: +SKIP
    >>> results["order_totals"].mode, results["order_totals"].rows_inserted       # doctest: +SKIP
    (<Mode.FULL: 'FULL'>, 5)
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @classmethod
    def load(cls, path: str | Path, name: str | None = None) -> Pipeline:
        """Read a pipeline from its file, or the pipeline ``name`` from a folder.

        Raises:
            DefinitionError: the file is wrong; every problem is listed.
        """
        planned = plan_path(path)
        plans = [plan for plan in planned.plans if name is None or plan.pipeline == name]
        if len(plans) == 1 and (name is not None or not planned.broken):
            return cls(plans[0])
        planned.raise_for_problems()
        known = ", ".join(plan.pipeline for plan in planned.plans) or "none"
        wanted = f"is no pipeline '{name}'" if name else f"are {len(plans)} pipelines"
        raise DefinitionError(
            [
                Problem(
                    Position(str(path), 1, 1),
                    f"there {wanted} here (found: {known}).",
                    "Name one of them.",
                )
            ]
        )

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self.plan.pipeline

    @property
    def tables(self) -> tuple[str, ...]:
        """The stream tables, in the order in which they are refreshed."""
        return tuple(table.name for table in self.plan.tables)

    def tick(
        self,
        spark: SparkSession | None = None,
        as_of: datetime | None = None,
        full_refresh: Collection[str] | bool = (),
        *,
        starting: Callable[[str], None] = lambda _table: None,
        done: Callable[[TableResult], None] = lambda _result: None,
        progress: Callable[[str, Iteration], None] = lambda _unit, _iteration: None,
        passed_over: Callable[[tuple[int, ...]], None] = lambda _strata: None,
    ) -> dict[str, TableResult]:
        """Bring every table to the present state of the sources, or to their state at ``as_of``.

        Args:
            spark: a session to use instead of the configured Spark.
            as_of: read the sources as they were then; a table that has been brought further is left alone.
            full_refresh: names of tables to recompute even if nothing changed; True for all.
            starting: called with a table's name before it is refreshed.
            done: called with each table's result.
            progress: called with the unit and what changed after every pass over a cycle or a recursive query.
            passed_over: called with the strata none of whose tables had anything to do.

        Raises:
            TickFailed: at least one table failed; its ``results`` tell of every table.
        """
        from airflow_trickle.lakehouse.catalog import open_lakehouse
        from airflow_trickle.runner import Listeners, run_tick

        wanted = self._wanted(full_refresh)
        if as_of is not None and as_of.tzinfo is None:
            as_of = as_of.replace(tzinfo=timezone.utc)
        with open_lakehouse(self.plan.catalog) as lake, self._spark(spark) as provider:
            tell = Listeners(starting, done, progress, passed_over)
            return run_tick(lake, self.plan, provider, as_of=as_of, full_refresh=wanted, tell=tell)

    def status(self) -> dict[str, TableState]:
        """How every table stands: stratum, cycle, group and epoch, the last refresh, the last error.

        Stratum and cycle are those of this plan; the rest is what the catalog knows, and of a table that was never
        refreshed that is nothing.

        Raises:
            CatalogUnavailable: the catalog did not answer.
        """
        from airflow_trickle.lakehouse.catalog import open_lakehouse
        from airflow_trickle.lakehouse.state import read_status, state_of

        with open_lakehouse(self.plan.catalog) as lake:
            known = read_status(lake, [table.identifier for table in self.plan.tables])
        blank = {"pipeline": self.name, "status": Status.INITIALIZING}
        return {
            table.name: TableState(
                **{**blank, **(state_of(known[table.identifier]) if table.identifier in known else {})},
                table=table.name,
                identifier=table.identifier,
                stratum=table.stratum,
                scc_id=table.scc_id,
            )
            for table in self.plan.tables
        }

    def restate(self, moment: datetime) -> dict[str, RestatedTable]:
        """Take all tables back, in one commit, to what they had published by a moment.

        The ticks after it can then run again: with ``tick(as_of=…)`` one by one, or with ``tick()`` all at once.

        Args:
            moment: with a time zone; the last tick whose effective time is not after it is the last that counts.

        Raises:
            CannotRestate: the moment makes no sense, lies before the first tick, or is no longer known.
            ForeignTable: a table was made or changed by somebody else.
            LeaseHeld: a table is being refreshed.
        """
        from airflow_trickle.engine.restate import restate
        from airflow_trickle.lakehouse.catalog import open_lakehouse
        from airflow_trickle.spark.session import interrupt_session
        from airflow_trickle.spark.target import target_from_environment

        def interrupt(session: str) -> int:
            return interrupt_session(target_from_environment(self.plan.spark_conn_id), session)

        with open_lakehouse(self.plan.catalog) as lake:
            return restate(lake, self.plan, moment, interrupt=interrupt)

    def maintain(
        self,
        tables: Collection[str] = (),
        *,
        policy: MaintenancePolicy | None = None,
        dry_run: bool = False,
        wait: float | None = None,
        done: Callable[[MaintainedTable], None] = lambda _result: None,
    ) -> Maintenance:
        """Keep the tables of the pipeline small: compact them, expire snapshots, remove orphan files, prune history.

        No row changes, and no snapshot goes that a stream table of any pipeline needs.

        Args:
            tables: names of stream tables to maintain; none means all, and the mirrors of captured sources.
            policy: what is kept; default is the key ``maintenance`` of the pipeline, else the defaults.
            dry_run: only tell what would be done.
            wait: for so many seconds for a refresh that is under way; then its table is left alone.
            done: called with what became of each table.

        Raises:
            CatalogUnavailable: the catalog did not answer.
        """
        from airflow_trickle.engine.maintenance.maintain import Listeners, Rules, maintain
        from airflow_trickle.lakehouse.catalog import open_lakehouse

        plan, wanted = self.plan, self._wanted(tables)
        kept = policy or (plan.maintenance.policy if plan.maintenance is not None else MaintenancePolicy())
        orders = {table.identifier: table.cluster_by for table in plan.tables if table.cluster_by}
        chosen = [table.identifier for table in plan.tables if table.name in wanted] or plan.maintained
        with open_lakehouse(plan.catalog) as lake:
            rules = Rules(kept, {plan.pipeline: kept}, orders)
            return maintain(lake, rules, chosen, dry_run=dry_run, wait=wait, tell=Listeners(done=done))

    def verify(
        self, tables: Collection[str] = (), spark: SparkSession | None = None, *, limit: int = 10
    ) -> dict[str, Verification]:
        """Compare tables with their queries over the inputs that they were computed from; publishes nothing.

        Args:
            tables: names of the tables to verify; none means all.
            spark: a session to use instead of the configured Spark.
            limit: how many differing rows of each table to show.

        Raises:
            CatalogUnavailable: the catalog did not answer.
            SparkUnavailable: Spark could not be reached.
        """
        from airflow_trickle.engine.verify import verify
        from airflow_trickle.lakehouse.catalog import open_lakehouse

        wanted = self._wanted(tables or True)
        steps = [(unit, step) for unit in self.plan.refreshes for step in unit.tables if step.name in wanted]
        with open_lakehouse(self.plan.catalog) as lake, self._spark(spark) as provider:
            return {step.name: verify(lake, step, self.name, provider, limit, unit) for unit, step in steps}

    def explain_change(
        self, table: str, changed: Collection[str] = (), spark: SparkSession | None = None
    ) -> ExplainedChange:
        """The SQL by which a table is refreshed from changes, step by step; nothing is computed.

        Args:
            table: the name of the table.
            changed: names of the inputs to take for changed; none means all.
            spark: a session to ask for types instead of the configured Spark.

        Raises:
            UnknownInput: the table does not read an input of that name.
            SourceMissing: the catalog does not have an input, so its columns are not known.
        """
        from airflow_trickle.engine.explain import chosen_inputs, explain_change
        from airflow_trickle.lakehouse.catalog import open_lakehouse

        wanted = self._wanted([table])
        step = next(one for one in self.plan.tables if one.name in wanted)
        inputs = chosen_inputs(step, changed)
        with open_lakehouse(self.plan.catalog) as lake, self._spark(spark) as provider:
            return explain_change(lake, step, provider, inputs)

    def _wanted(self, names: Collection[str] | bool) -> frozenset[str]:
        """The tables of some names, all of them known; True stands for all."""
        if isinstance(names, bool):
            return frozenset(self.tables) if names else frozenset()
        asked = frozenset([names] if isinstance(names, str) else names)
        if unknown := sorted(asked - set(self.tables)):
            raise TrickleError(
                f"Pipeline '{self.name}' has no stream table {', '.join(map(repr, unknown))}. "
                f"It has: {', '.join(self.tables)}."
            )
        return asked

    def _spark(self, session: SparkSession | None) -> SparkProvider:
        return spark_provider(self.plan.spark_conn_id, session)


def check_queries(project: PlannedProject, spark: SparkSession | None = None) -> Report:
    """Check the query of every planned stream table against the columns that its inputs have in the catalog.

    Spark is asked for types only: nothing is computed, and nothing is written.

    Args:
        project: the pipelines; those of broken files are left out.
        spark: a session to ask instead of the configured Spark.

    Raises:
        CatalogUnavailable: a catalog did not answer.
        SparkUnavailable: Spark could not be reached.
    """
    from airflow_trickle.engine.validation.project import check_queries as check
    from airflow_trickle.engine.validation.report import merged
    from airflow_trickle.lakehouse.catalog import open_lakehouse

    with ExitStack() as stack:
        providers = {
            name: stack.enter_context(spark_provider(name, spark))
            for name in sorted({plan.spark_conn_id for plan in project.plans})
        }
        reports = []
        for catalog in sorted({plan.catalog for plan in project.plans}):
            plans = [plan for plan in project.plans if plan.catalog == catalog]
            lake = stack.enter_context(open_lakehouse(catalog))
            reports.append(check(lake, plans, lambda plan: providers[plan.spark_conn_id]))
        return merged(reports)


def spark_provider(conn_id: str, session: SparkSession | None = None) -> SparkProvider:
    """The Spark of a connection, or a session of the caller's."""
    from airflow_trickle.spark.session import SparkProvider
    from airflow_trickle.spark.target import target_from_environment

    if session is not None:
        return SparkProvider.of(session)
    return SparkProvider(target_from_environment(conn_id))
