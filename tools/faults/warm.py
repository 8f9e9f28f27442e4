"""Runs pytest in forks of one process that has loaded the heavy libraries: to load them is most of a short run.

A script of `forks.py`. It reads a call as a line of JSON, answers with the id of the process that runs it, and with
its exit code when it has ended. Neither the package nor its tests are loaded before the fork: each run has them anew.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import sys
from contextlib import suppress
from typing import NoReturn


def main() -> None:
    """Answer calls until there are no more."""
    sys.path[0] = os.getcwd()  # as `python -m pytest` has it
    for name in sys.argv[1:]:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that no fork writes to the memory of what it shares
    answers = os.dup(1)
    for line in sys.stdin:
        call = json.loads(line)
        process = os.fork()
        if not process:
            os.close(answers)
            _become(call["output"])
            os.environ.update(call["environment"])
            _run(call["options"])
        os.write(answers, b"%d\n" % process)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        os.write(answers, b"%d\n" % code)


def _become(output_file: str) -> None:
    """Have what a process of its own would have: a session, and where its output goes."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(output_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for of, to in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(of, to)
    os.close(nothing)
    os.close(output)


def _run(options: list[str]) -> NoReturn:
    import pytest

    code = pytest.main(options)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    # Libraries in C++ would end the process with an abort: their threads have not come along into the fork.
    os._exit(code)


if __name__ == "__main__":
    main()
