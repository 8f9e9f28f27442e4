"""Telling of a cycle that did not settle: what there is to know of it, and whom to call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from airflow_trickle.errors import NonConvergence, TrickleError

log = logging.getLogger("airflow_trickle")

Callback = Callable[[Any], Any]

#: The key of a pipeline's YAML.
ON_NON_CONVERGENCE = "on_non_convergence_callback"


class BadCallback(TrickleError):
    """A dotted path stands for nothing that can be called: correct it, or install what it names."""

    def __init__(self, message: str, hint: str) -> None:
        self.hint = hint
        super().__init__(message)


def callback_at(path: str) -> Callback:
    """What a dotted path stands for: a function, or a Notifier class (made without arguments).

    Raises:
        BadCallback: it cannot be imported or called.
    """
    module, _, attribute = path.rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
        if isinstance(found, type) and callable(getattr(found, "notify", None)):
            found = found()
    except (Exception, SystemExit) as error:  # importing runs the user's code, which may raise anything
        why = "it ends the process (sys.exit)" if isinstance(error, SystemExit) else error
        raise BadCallback(
            f"'{path}' cannot be imported: {why}.", "It must be on the PYTHONPATH of Airflow's processes."
        ) from None
    if not callable(found):
        raise BadCallback(f"'{path}' cannot be called.", "Name a function or a Notifier.")
    return found  # type: ignore[no-any-return]


def non_convergence_details(error: NonConvergence, *, pipeline: str, cap: int) -> dict[str, Any]:
    """What a callback finds under ``trickle`` in its context."""
    return {
        "pipeline": pipeline,
        "unit": error.unit,
        "members": list(error.members),
        "iterations": len(error.trace),
        "cap": cap,
        "changes_per_iteration": [dict(one.changes) for one in error.trace],
        "last_delta": error.trace[-1].total if error.trace else 0,
        "hint": error.hint,
        "error": str(error),
    }


def alert(callbacks: Mapping[str, str], details: Mapping[str, Any]) -> None:
    """Call a pipeline's callback for what did not settle, if it has one, outside of Airflow.

    That the callback fails must not hide why it was called.
    """
    path = callbacks.get(ON_NON_CONVERGENCE)
    if path is None:
        return
    try:
        callback_at(path)({"trickle": dict(details)})
    except Exception as error:
        log.warning("%s: calling '%s' failed: %s", ON_NON_CONVERGENCE, path, error)
