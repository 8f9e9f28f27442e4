"""Layers of the test suite, the cheapest first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """Tests chosen by their markers; ``seconds`` is how long one run of pytest may take."""

    name: str
    markers: str
    #: The markers of the tests that no cheaper layer has run.
    rest: str
    seconds: float


#: No Spark, no Airflow, no PostgreSQL.
FAST = Layer(
    "fast",
    "not spark and not airflow and not server and not soak",
    "not spark and not airflow and not server and not soak",
    300.0,
)
TEST = Layer("test", "not soak", "(spark or airflow or server) and not soak", 1800.0)
LAYERS = (FAST, TEST)
