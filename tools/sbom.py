"""Writes the bill of materials of the wheel: what an installation of it consists of (CycloneDX, cyclonedx-py)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: In an environment of its own, so that it is not a part of the bill.
CYCLONEDX = "cyclonedx-bom==7.5.0"


def main() -> None:
    """Build the wheel, install it with what it needs, and write what is there to ``dist/``."""
    output = ROOT / "dist"
    with tempfile.TemporaryDirectory(prefix="trickle-sbom-") as scratch:
        folder = Path(scratch)
        print("Building the wheel", flush=True)
        _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", scratch, str(ROOT))
        (wheel,) = folder.glob("*.whl")
        print(f"Installing {wheel.name} into a clean environment", flush=True)
        constraints = ("-c", str(ROOT / "constraints.txt"))
        _install(folder / "installed", *constraints, str(wheel))
        _install(folder / "tool", CYCLONEDX)
        output.mkdir(exist_ok=True)
        written = output / f"{wheel.stem}.cdx.json"
        _run(
            *(str(folder / "tool" / "bin" / "python"), "-m", "cyclonedx_py", "environment"),
            *("--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", "--of", "JSON"),
            *("--output-file", str(written), str(folder / "installed")),
        )
    bill = json.loads(written.read_text(encoding="utf-8"))
    print(f"{written.relative_to(ROOT)}: {len(bill['components'])} components, CycloneDX {bill['specVersion']}")


def _install(folder: Path, *what: str) -> None:
    venv.create(folder, with_pip=True)
    _run(str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *what)


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:4])} … failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
