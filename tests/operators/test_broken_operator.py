from __future__ import annotations

import logging

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_trickle.errors import Position, Problem
from airflow_trickle.operators.broken import BrokenDefinitionOperator


def test_it_fails_with_every_problem_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    problems = [
        Problem(Position("shop.yaml", 7, 3), "unknown key 'quary'.", "Did you mean 'query'?"),
        Problem(Position("shop.yaml", 2, 1), "unknown key 'sourcs'."),
    ]

    with pytest.raises(AirflowFailException):
        BrokenDefinitionOperator(task_id="broken", problems=problems).execute({})

    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.getMessage() == (
        "shop.yaml:2:1: unknown key 'sourcs'.\nshop.yaml:7:3: unknown key 'quary'. Did you mean 'query'?"
    )
    assert record.exc_info is None
