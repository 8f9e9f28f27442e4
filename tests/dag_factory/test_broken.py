"""Broken files: seen in Airflow, and no harm to the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from airflow.sdk import DAG

from airflow_trickle.dag_factory import build_dags
from airflow_trickle.errors import DefinitionError
from airflow_trickle.operators.broken import BrokenDefinitionOperator
from airflow_trickle.operators.failures import DidNotSettle
from tests.dag_factory.conftest import SHOP

Write = Callable[[dict[str, str]], Path]

BROKEN = "pipeline: bad\nsources: [a]\nstream_tables:\n  t:\n    quary: SELECT * FROM a\n"


def by_id(folder: Path) -> dict[str, DAG]:
    return {dag.dag_id: dag for dag in build_dags(folder, {})}


def test_a_broken_file_is_a_failing_dag_beside_the_good_ones(write: Write) -> None:
    folder = write({"shop.yaml": SHOP, "bad one.yaml": BROKEN})

    dags = by_id(folder)

    assert sorted(dags) == ["shop", "trickle_broken__bad_one"]
    broken = dags["trickle_broken__bad_one"]
    assert broken.tags == {"trickle", "broken"}
    assert broken.is_paused_upon_creation is False
    assert type(broken.timetable).__name__ == "OnceTimetable"
    (task,) = broken.tasks
    assert isinstance(task, BrokenDefinitionOperator)
    assert task.retries == 0
    listed = "\n".join(str(problem) for problem in task.problems)
    assert f"{folder}/bad one.yaml:5:5: stream table 't': unknown key 'quary'" in listed
    assert broken.doc_md == (
        f"`bad one.yaml` cannot be run.\n\n```\n{listed}\n```\n\nWhen the file is corrected, this DAG goes away.\n"
    )


def test_files_of_one_name_in_two_folders_do_not_hide_each_other(write: Write) -> None:
    dags = by_id(write({"a/bad.yaml": BROKEN, "a_bad.yaml": BROKEN.replace("bad", "worse")}))

    assert sorted(dags) == ["trickle_broken__a_bad", "trickle_broken__a_bad_2"]


def test_two_pipelines_of_one_name_are_both_broken(write: Write) -> None:
    dags = by_id(write({"one.yaml": SHOP, "two.yaml": SHOP}))

    assert sorted(dags) == ["trickle_broken__one", "trickle_broken__two"]
    assert "the pipeline 'shop' is also defined at" in str(dags["trickle_broken__one"].doc_md)


def test_a_problem_in_a_query_file_counts_for_its_pipeline(write: Write) -> None:
    text = SHOP.replace("query: SELECT name FROM names WHERE amount > 100", "query_file: best.sql")

    dags = by_id(write({"shop.yaml": text, "best.sql": "SELECT FROM WHERE"}))

    assert sorted(dags) == ["trickle_broken__shop"]


def test_strict_raises_with_all_problems(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write({"shop.yaml": SHOP, "bad.yaml": BROKEN, "worse.yaml": "pipeline: ["})

    with pytest.raises(DefinitionError) as raised:
        build_dags(folder, {}, strict=True)
    assert {Path(problem.at.file).name for problem in raised.value.problems} == {"bad.yaml", "worse.yaml"}

    monkeypatch.setenv("AIRFLOW__TRICKLE__STRICT", "True")
    with pytest.raises(DefinitionError):
        build_dags(folder, {})
    assert len(build_dags(folder, {}, strict=False)) == 3


def test_a_callback_that_cannot_be_imported_breaks_its_file_only(write: Write) -> None:
    folder = write({"shop.yaml": SHOP + "on_failure_callback: no_such_module.alert\n"})

    dags = by_id(folder)

    assert sorted(dags) == ["trickle_broken__shop"]
    (task,) = dags["trickle_broken__shop"].tasks
    assert [str(problem) for problem in task.problems] == [
        f"{folder}/shop.yaml:1:1: on_failure_callback: 'no_such_module.alert' cannot be imported: No module "
        "named 'no_such_module'. It must be on the PYTHONPATH of Airflow's processes."
    ]


def test_a_callback_module_that_ends_the_process_breaks_its_file_only(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving = SHOP.replace("pipeline: shop", "pipeline: leaving\nnamespace: elsewhere")
    folder = write(
        {
            "shop.yaml": SHOP,
            "leaving.yaml": leaving + "on_failure_callback: trickle_leaving.alert\n",
            "trickle_leaving.py": "import sys\n\nsys.exit(3)\n",
        }
    )
    monkeypatch.syspath_prepend(str(folder))

    dags = by_id(folder)

    assert sorted(dags) == ["shop", "trickle_broken__leaving"]
    (task,) = dags["trickle_broken__leaving"].tasks
    assert isinstance(task, BrokenDefinitionOperator)
    assert [str(problem) for problem in task.problems] == [
        f"{folder}/leaving.yaml:1:1: on_failure_callback: 'trickle_leaving.alert' cannot be imported: it ends the "
        f"process (sys.exit). It must be on the PYTHONPATH of Airflow's processes."
    ]


def test_a_callback_must_be_something_to_call(write: Write) -> None:
    dags = by_id(write({"shop.yaml": SHOP + "on_success_callback: math.pi\n"}))

    (task,) = dags["trickle_broken__shop"].tasks
    assert "on_success_callback: 'math.pi' cannot be called. Name a function or a Notifier." in str(task.problems[0])


def test_callbacks_go_to_the_run(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(
        {
            "shop.yaml": SHOP + "on_failure_callback: trickle_alerts.alert\n"
            "on_success_callback: trickle_alerts.Praise\n",
            "trickle_alerts.py": "from airflow.sdk import BaseNotifier\n"
            "def alert(context): pass\n"
            "class Praise(BaseNotifier):\n"
            "    def notify(self, context): pass\n",
        }
    )
    monkeypatch.syspath_prepend(folder)

    dag = by_id(folder)["shop"]

    assert dag.on_failure_callback.__name__ == "alert"
    assert type(dag.on_success_callback).__name__ == "Praise"


def test_the_callback_for_what_does_not_settle_goes_to_the_tasks(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(
        {
            "shop.yaml": SHOP + "on_non_convergence_callback: trickle_non_convergence.alert\n",
            "trickle_non_convergence.py": "heard = []\ndef alert(context): heard.append(context)\n",
        }
    )
    monkeypatch.syspath_prepend(folder)

    dag = by_id(folder)["shop"]

    assert not dag.has_on_failure_callback
    callbacks = {task.task_id: task.on_failure_callback for task in dag.tasks}
    assert not callbacks.pop("pin")
    assert sorted(callbacks) == ["best", "names", "totals"]
    ((callback,), *_) = callbacks.values()
    callback({"exception": ValueError("something else")})
    failure = DidNotSettle("no", {"unit": "names"})
    callback({"exception": failure, "dag": dag})
    import trickle_non_convergence  # type: ignore[import-not-found]

    assert trickle_non_convergence.heard == [{"exception": failure, "dag": dag, "trickle": {"unit": "names"}}]


def test_a_callback_for_what_does_not_settle_must_exist(write: Write) -> None:
    dags = by_id(write({"shop.yaml": SHOP + "on_non_convergence_callback: no_such_module.alert\n"}))

    (task,) = dags["trickle_broken__shop"].tasks
    assert "on_non_convergence_callback: 'no_such_module.alert' cannot be imported" in str(task.problems[0])
