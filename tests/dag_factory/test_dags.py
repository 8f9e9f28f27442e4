"""The shape of the DAG of a good pipeline."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from airflow.sdk import DAG, CronDataIntervalTimetable, DeltaDataIntervalTimetable
from airflow.sdk.definitions._internal.dag_parsing_context import _airflow_parsing_context_manager

from airflow_trickle.analysis.modes import FROM_CHANGES
from airflow_trickle.dag_factory import build_dags
from airflow_trickle.operators.pin import PinOperator
from airflow_trickle.operators.refresh import RefreshOperator
from tests.dag_factory.conftest import SHOP

Write = Callable[[dict[str, str]], Path]


def only_dag(folder: Path) -> DAG:
    (dag,) = build_dags(folder, {})
    return dag


def test_one_task_a_table_after_what_its_query_reads(shop: Path) -> None:
    dag = only_dag(shop)

    assert {task.task_id: sorted(task.upstream_task_ids) for task in dag.tasks} == {
        "pin": [],
        "totals": ["pin"],
        "names": ["totals"],
        "best": ["names"],
    }
    assert sorted(dag.get_task("totals").downstream_task_ids) == ["names"]
    assert isinstance(dag.get_task("pin"), PinOperator)
    assert isinstance(dag.get_task("names"), RefreshOperator)


def test_what_airflow_shows_and_schedules(shop: Path) -> None:
    dag = only_dag(shop)

    assert dag.dag_id == "shop"
    assert dag.description == "Totals of a shop."
    assert dag.timetable == DeltaDataIntervalTimetable(timedelta(minutes=5))
    assert dag.start_date == datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert dag.catchup is False
    assert dag.max_active_runs == 1
    assert dag.tags == {"trickle", "money"}
    assert dag.params["full_refresh"] is False
    assert {task.task_id: task.owner for task in dag.tasks} == {
        "pin": "ann",
        "totals": "ann",
        "names": "bob",
        "best": "ann",
    }
    assert {task.retries for task in dag.tasks} == {2}


@pytest.mark.parametrize(
    ("schedule", "timetable"),
    [
        ("1h30m", DeltaDataIntervalTimetable(timedelta(minutes=90))),
        ('"*/10 * * * *"', CronDataIntervalTimetable("*/10 * * * *", timezone="UTC")),
        ('"@daily"', CronDataIntervalTimetable("@daily", timezone="UTC")),
        ("0 6 * * *\ntimezone: Asia/Tokyo", CronDataIntervalTimetable("0 6 * * *", timezone="Asia/Tokyo")),
    ],
)
def test_every_schedule_has_data_intervals_so_that_it_can_be_backfilled(
    write: Write, schedule: str, timetable: object
) -> None:
    dag = only_dag(write({"shop.yaml": SHOP.replace("5m", schedule)}))

    assert dag.timetable == timetable

    from airflow.serialization.serialized_objects import DagSerialization

    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag)).timetable
    assert stored.periodic
    assert stored == timetable


def test_no_schedule_means_by_hand(write: Write) -> None:
    dag = only_dag(write({"shop.yaml": SHOP.replace("schedule: 5m\n", "")}))

    assert type(dag.timetable).__name__ == "NullTimetable"


def test_a_table_may_be_called_like_the_pin_task(write: Write) -> None:
    dag = only_dag(write({"shop.yaml": SHOP.replace("totals", "pin")}))

    assert sorted(dag.get_task("pin").upstream_task_ids) == ["pin_2"]
    assert dag.get_task("pin").pin_task_id == "pin_2"


def test_the_dags_land_in_the_calling_file_without_hiding_its_variables(write: Write) -> None:
    namespace: dict[str, object] = {"build_dags": build_dags}

    build_dags(write({"a.yaml": SHOP.replace("pipeline: shop", "pipeline: build_dags")}), namespace)

    assert namespace["build_dags"] is build_dags
    assert [dag.dag_id for dag in namespace.values() if isinstance(dag, DAG)] == ["build_dags"]


def test_the_documentation_of_the_pipeline(shop: Path) -> None:
    assert only_dag(shop).doc_md == (
        "### `shop`\n"
        "\n"
        "Totals of a shop.\n"
        "\n"
        "- defined in `shop.yaml`\n"
        "- schedule: `5m`\n"
        "- catalog `trickle`, namespace `default`\n"
        "- reads `default.customers`, `default.orders`\n"
        "\n"
        "| stream table | stratum | mode | reads |\n"
        "|---|---|---|---|\n"
        "| `totals` | 1 | DIFFERENTIAL | `orders` |\n"
        "| `names` | 1 | DIFFERENTIAL | `customers`, `totals` |\n"
        "| `best` | 1 | DIFFERENTIAL | `names` |\n"
    )


def test_the_documentation_of_a_table(shop: Path) -> None:
    task = only_dag(shop).get_task("totals")
    definition = task.step.tables[0].definition

    assert task.doc_md == (
        "### `totals`\n"
        "\n"
        "What each customer paid.\n"
        "\n"
        "```sql\n"
        "SELECT customer, SUM(amount) AS amount FROM orders GROUP BY customer\n"
        "```\n"
        "\n"
        "- table `default.totals`, defined at `shop.yaml:9:3`\n"
        "- reads `default.orders` (source `orders`), non-monotone: it is the input of an aggregate (SUM) "
        "(line 1 of the query)\n"
        "- stratum 1\n"
        f"- mode DIFFERENTIAL: AUTO: {FROM_CHANGES}\n"
        f"- definition `{definition}`\n"
    )


def test_a_worker_gets_the_dag_of_its_task_only(write: Write) -> None:
    folder = write({"shop.yaml": SHOP, "bar.yaml": SHOP.replace("pipeline: shop", "pipeline: bar\nnamespace: bar")})

    assert sorted(dag.dag_id for dag in build_dags(folder, {})) == ["bar", "shop"]
    with _airflow_parsing_context_manager(dag_id="shop", task_id="totals"):
        assert [dag.dag_id for dag in build_dags(folder, {})] == ["shop"]


def test_the_examples_of_the_repository_are_sound() -> None:
    folder = Path(__file__).parents[2] / "dags"

    dags = {dag.dag_id: dag for dag in build_dags(folder, {}, strict=True)}

    assert sorted(dags) == [
        "board",
        "fulfilment",
        "materials",
        "ownership",
        "reachability",
        "risk",
        "routes",
        "webshop",
    ]
    assert not any("warning" in str(dag.doc_md) for dag in dags.values())
