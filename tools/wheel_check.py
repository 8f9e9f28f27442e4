"""Builds the wheel, installs it where there is no Airflow, and imports what a Spark driver needs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Runs in the clean environment: everything a Spark driver may import must work without Airflow.
_CHECK = """
import importlib, importlib.util, pkgutil, sys
from pathlib import Path

import airflow_trickle

home = Path(airflow_trickle.__file__).parent
assert "site-packages" in str(home), f"not the installed package: {home}"
assert importlib.util.find_spec("airflow") is None, "Airflow is installed here"
parts = ("dag_factory", "dag_tasks", "operators", "sensors", "hooks", "notifications", "plugin")
with_airflow = tuple(f"airflow_trickle.{part}" for part in parts)
names = [
    module.name
    for module in pkgutil.walk_packages([str(home)], "airflow_trickle.", onerror=lambda name: None)
    if not module.name.startswith((*with_airflow, "airflow_trickle.spark_jobs"))
]
for name in names:
    importlib.import_module(name)
assert (home / "spark_jobs").is_dir(), "spark_jobs is not in the wheel"
print(f"{len(names)} modules import without Airflow; spark_jobs: "
      f"{', '.join(sorted(path.name for path in (home / 'spark_jobs').glob('*.py')))}")
"""


def main() -> None:
    """Build, install, import; raises at the first thing that fails."""
    with tempfile.TemporaryDirectory(prefix="trickle-wheel-") as scratch:
        folder = Path(scratch)
        print("Building the wheel", flush=True)
        _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", scratch, str(ROOT))
        (wheel,) = folder.glob("*.whl")
        print(f"Installing {wheel.name}[spark] into a clean environment", flush=True)
        venv.create(folder / "venv", with_pip=True)
        python = str(folder / "venv" / "bin" / "python")
        pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
        _run(*pip, "-c", str(ROOT / "constraints.txt"), f"{wheel}[spark]")
        print("Importing it", flush=True)
        # -I: neither this folder nor PYTHONPATH may help.
        _run(python, "-I", "-c", _CHECK, show=True)
        _run(str(folder / "venv" / "bin" / "trickle"), "--help")


def _run(*command: str, show: bool = False) -> None:
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:4])} … failed:\n{done.stdout}{done.stderr}")
    if show:
        print(done.stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
