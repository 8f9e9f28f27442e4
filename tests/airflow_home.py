"""Airflow inside the test process: imported once, with a folder of its own, leaving no trace for others."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile


def import_airflow() -> None:
    """Import Airflow with a temporary AIRFLOW_HOME; environment and logging stay as they were.

    Airflow reads its folder once, when it is imported. The conftest of every folder whose tests need
    Airflow calls this before their modules are imported.
    """
    if "airflow" in sys.modules:
        return
    home = tempfile.mkdtemp(prefix="trickle-airflow-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    environment = dict(os.environ)
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    os.environ.update(AIRFLOW_HOME=home, AIRFLOW__CORE__LOAD_EXAMPLES="False")
    try:
        import airflow.sdk
        import airflow.settings  # noqa: F401
    finally:
        os.environ.clear()
        os.environ.update(environment)
        root.setLevel(level)
        root.handlers[:] = handlers
