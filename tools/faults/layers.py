"""Layers of the test suite, the cheapest first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """Tests chosen by their markers; ``seconds`` is how long one run of pytest may take."""

    name: str
    markers: str
    #: The markers of the tests that no cheaper layer has run, or not with as many examples.
    rest: str
    #: How many examples the property tests try, as in `tests/budgets.py`.
    profile: str
    seconds: float


#: What `make fast` runs: no Spark, no Airflow, no PostgreSQL.
_FAST = "not (spark or server or airflow or e2e or slow or soak)"
FAST = Layer("fast", _FAST, _FAST, "fast", 300.0)
#: What `make test` runs.
TEST = Layer(
    "test",
    "not soak",
    "(spark or server or airflow or e2e or slow or hypothesis or seeded) and not soak",
    "ci",
    1800.0,
)
LAYERS = (FAST, TEST)
