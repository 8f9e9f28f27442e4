"""The first task of a tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_trickle.errors import CannotRestate
from airflow_trickle.operators.failures import told_in_words
from airflow_trickle.operators.skipping import Watched, end_skipping, look_of, pass_over
from airflow_trickle.plan.steps import PinStep, Plan
from airflow_trickle.tick import Tick

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_trickle.lakehouse.catalog import Lakehouse

#: Runs that stand for an interval of time: they read what there was at its end.
_OF_AN_INTERVAL = ("scheduled", "backfill")


#: The parameter that confirms a restate: whoever means another DAG is stopped here.
RESTATE_PIPELINE = "restate_pipeline"


class PinOperator(BaseOperator):
    """Fixes what the whole tick reads, hands it on as XCom, and passes over what has nothing to do.

    A scheduled run and a backfill read the sources as they were at the end of their data interval; a run that was
    triggered by hand or by an asset reads them as they are.

    Args:
        step: what to pin, from the plan.
        catalog: name of the Iceberg catalog.
        spark_conn_id: connection that says where Spark runs; it is not used.
        watched: the units of the pipeline and their tasks.
        looks: whether units with nothing to do are passed over here; else each looks for itself.
        plan: the pipeline, for taking its tables back (the parameter ``restate``, confirmed by its name).
        sensors: by layer, the tasks that do the same later on.
        captures: by identifier, the tasks that capture sources.
    """

    ui_color = "#e8eef7"

    def __init__(
        self,
        *,
        step: PinStep,
        catalog: str,
        spark_conn_id: str = "trickle_spark",
        watched: Sequence[Watched] = (),
        looks: bool = True,
        plan: Plan | None = None,
        sensors: Mapping[int, str] | None = None,
        captures: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.catalog = catalog
        self.spark_conn_id = spark_conn_id
        self.watched = tuple(watched)
        self.looks = looks
        self.plan = plan
        self.sensors = dict(sensors or {})
        self.captures = dict(captures or {})

    def execute(self, context: Context) -> dict[str, Any]:
        """Pin, and return the `Tick` as a dictionary."""
        from airflow_trickle.lakehouse.catalog import open_lakehouse

        with told_in_words(), open_lakehouse(self.catalog) as lake:
            params = context.get("params") or {}
            if moment := params.get("restate"):
                return self._restated(lake, context, moment, params.get(RESTATE_PIPELINE))
            tick = self._pinned(lake, context)
            tasks = self._idle(lake, tick, context) if self.looks and self.watched else []
        returned: dict[str, Any] = end_skipping(context, tick.model_dump(mode="json"), tasks)
        return returned

    def _restated(self, lake: Lakehouse, context: Context, moment: str, confirmed: str | None) -> dict[str, Any]:
        """Take the tables back, and end the run there: the ticks after that moment are to run again one by one."""
        from airflow_trickle.engine.restate import restate

        assert self.plan is not None  # noqa: S101 - the DAG factory gives it
        require_confirmation(self.plan.pipeline, confirmed)
        told = restate(lake, self.plan, moment_of(moment))
        tasks = [task for one in self.watched for task in one.task_ids] + list(self.sensors.values())
        results = {name: result.model_dump(mode="json") for name, result in told.items()}
        returned: dict[str, Any] = end_skipping(context, {"restated": results}, tasks)
        return returned

    def _pinned(self, lake: Lakehouse, context: Context) -> Tick:
        from airflow_trickle.engine.pin import pin

        kind, moment = interval_of(context)
        return pin(lake, self.step, tick_id(self.dag_id, context["run_id"]), moment, scheduled=kind == "scheduled")

    def _idle(self, lake: Lakehouse, tick: Tick, context: Context) -> list[str]:
        from airflow_trickle.hooks.spark import TrickleSparkHook
        from airflow_trickle.operators.submitting import spark_at

        look = look_of(context, tick, self.captures)
        target = TrickleSparkHook(self.spark_conn_id).get_conn()
        with spark_at(target, self.spark_conn_id) as spark:
            return pass_over(lake, self.watched, self.sensors, look, spark)


def require_confirmation(pipeline: str, given: str | None) -> None:
    """Refuse to take a pipeline back unless somebody has typed its name.

    Raises:
        CannotRestate: the name is missing, or is another one.
    """
    if given == pipeline:
        return
    told = f"is '{given}'" if given else "is missing"
    raise CannotRestate(
        f"The parameter `restate` takes all tables of pipeline '{pipeline}' back. To confirm that, the parameter "
        f"`{RESTATE_PIPELINE}` must be the name of the pipeline, {pipeline}; it {told}. Nothing was changed. Trigger "
        f'the DAG again with {{"restate": "<moment>", "{RESTATE_PIPELINE}": "{pipeline}"}}.'
    )


def moment_of(text: str) -> datetime:
    """The moment that somebody gave as a parameter; UTC if it names no zone."""
    try:
        # Python 3.10 does not read the Z.
        found = datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in "zZ" else text)
    except ValueError:
        raise CannotRestate(
            f"'{text}' is no moment. Write it like 2026-01-31T06:00:00+00:00, as the parameter `restate`."
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)


def interval_of(context: Context) -> tuple[str, datetime | None]:
    """What kind of run this is, and the end of its data interval if it stands for one."""
    run_type = getattr(context.get("dag_run"), "run_type", "manual")
    kind = str(getattr(run_type, "value", run_type))
    return kind, context.get("data_interval_end") if kind in _OF_AN_INTERVAL else None


def tick_id(dag_id: str, run_id: str) -> str:
    """The name of a tick: every attempt and every task of one DAG run are the same tick."""
    return f"{dag_id}/{run_id}"
