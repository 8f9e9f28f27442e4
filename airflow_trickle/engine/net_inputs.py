"""Nets the rewritten files of inputs in the worker process, before anything is estimated or computed from them."""

from __future__ import annotations

from dataclasses import replace

from airflow_trickle.engine.states import ChangedInput
from airflow_trickle.lakehouse.net_change import net_change
from airflow_trickle.lakehouse.snapshots import schema_of
from airflow_trickle.results import Choice, ChoiceCode
from airflow_trickle.tuning import tuning

#: This process nets so many bytes of data files a second, at least: 17 MB with 13 columns take 0.5 s of processor time.
_PACE = 14 * 1024 * 1024
#: To find what came and went may take this share of a full refresh, which may be chosen after all.
_SHARE = 0.25


def with_net_changes(inputs: dict[str, ChangedInput], most_bytes: int | None = None) -> dict[str, ChangedInput]:
    """The inputs with the net change of those that lost rows, where it is small enough; the same object if none is.

    Args:
        inputs: What happened to the inputs.
        most_bytes: So many bytes of data files are read for each input at most; without it `Tuning.arrow_net_bytes`.
    """
    limits = tuning()
    most = limits.arrow_net_bytes if most_bytes is None else min(most_bytes, limits.arrow_net_bytes)
    room = limits.arrow_change_bytes
    found: dict[str, ChangedInput] = {}
    for identifier, one in inputs.items():
        if one.only_grew or one.net is not None:
            continue
        table, schema = one.after.table, schema_of(one.after.table, one.after.version)
        net = net_change(table, one.changes, one.lost, schema, most_bytes=most)
        if net is not None and net.nbytes <= room:
            room -= net.nbytes
            found[identifier] = replace(one, net=net)
    return {**inputs, **found} if found else inputs


def worth_netting(choice: Choice) -> int | None:
    """How many bytes of an input's rewritten files are read before AUTO chooses for good; None: as many as ever.

    Args:
        choice: What AUTO would take, judging by the rows of these files.
    """
    if choice.code is ChoiceCode.SMALL_INPUTS:
        return 0
    return int(choice.in_full * _PACE * _SHARE) if choice.full and choice.in_full is not None else None
