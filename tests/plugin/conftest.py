from __future__ import annotations

from tests.airflow_home import import_airflow

import_airflow()

from tests.engine.conftest import world  # noqa: E402, F401
