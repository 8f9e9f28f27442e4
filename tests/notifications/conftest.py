from __future__ import annotations

from tests.airflow_home import import_airflow

import_airflow()
