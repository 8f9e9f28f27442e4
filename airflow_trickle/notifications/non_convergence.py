"""Notices of cycles that did not settle, for Airflow's callbacks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from airflow.sdk import BaseNotifier

from airflow_trickle.alerts import callback_at

log = logging.getLogger("airflow_trickle")

#: So many passes are shown, from the last one back.
_SHOWN = 5


class OnNonConvergence:
    """An ``on_failure_callback`` that passes on only what did not settle.

    Args:
        callback: is called with Airflow's context and, as its ``trickle``, what is known of the failure.
    """

    def __init__(self, callback: Callable[[Any], Any]) -> None:
        self.callback = callback

    def __call__(self, context: Mapping[str, Any]) -> None:
        """Call the callback, unless the task failed for another reason."""
        details = details_in(context)
        if details is not None:
            self.callback({**context, "trickle": details})


class NonConvergenceNotifier(BaseNotifier):
    """Says in the log which cycle did not settle and what to do, and may tell somebody else.

    For ``on_non_convergence_callback`` of a pipeline, and for any ``on_failure_callback`` of Airflow, where it is
    silent about other failures. Derive from it and give ``also``, or override `send`, to reach people.

    Args:
        also: a function or Notifier to call too, or its dotted path.
    """

    def __init__(self, also: Callable[[Any], Any] | str | None = None) -> None:
        super().__init__()
        self.also = callback_at(also) if isinstance(also, str) else also

    def notify(self, context: Any) -> None:
        """Tell of the failure, if it is one of a cycle that did not settle."""
        details = details_in(context)
        if details is None:
            return
        self.send(message_of(details), {**context, "trickle": details})

    def send(self, message: str, context: Mapping[str, Any]) -> None:
        """Deliver a message: to the log, and to ``also``."""
        log.error("%s", message)
        if self.also is not None:
            self.also(context)


def details_in(context: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a callback's context tells of a cycle that did not settle; None if it is about something else."""
    found = context.get("trickle")
    if found is None:
        found = getattr(context.get("exception"), "trickle", None)
    return found if isinstance(found, dict) else None


def message_of(details: Mapping[str, Any]) -> str:
    """The failure in words, for a person who was not there.

    >>> print(message_of({"pipeline": "p", "unit": "cycle_a", "members": ["a", "b"], "iterations": 2, "cap": 2,
    ...     "changes_per_iteration": [{"a": 1, "b": 0}, {"a": 0, "b": 1}], "last_delta": 1, "error": "",
    ...     "hint": "Deduplicate."}))
    Pipeline p: a and b did not settle in 2 passes of at most 2; nothing was published.
      pass 1: a 1, b 0
      pass 2: a 0, b 1
    Deduplicate.
    When it is mended: trickle resume a
    """
    members = list(details["members"])
    names = " and ".join([", ".join(members[:-1]), members[-1]] if len(members) > 1 else members)
    lines = [
        f"Pipeline {details['pipeline']}: {names} did not settle in {details['iterations']} passes of at most "
        f"{details['cap']}; nothing was published."
    ]
    passes = list(enumerate(details["changes_per_iteration"], 1))
    if len(passes) > _SHOWN:
        lines.append(f"  … {len(passes) - _SHOWN} passes before")
    for number, changes in passes[-_SHOWN:]:
        lines.append(f"  pass {number}: " + ", ".join(f"{table} {count}" for table, count in changes.items()))
    if details["hint"]:
        lines.append(details["hint"])
    lines.append(f"When it is mended: trickle resume {members[0]}")
    return "\n".join(lines)
