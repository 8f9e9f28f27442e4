"""The YAML to write in place of a query with mutual recursion."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_trickle.algebra.decompose import Decomposition, Member
from airflow_trickle.definition.partitioning import as_written
from airflow_trickle.definition.records import PipelineDef, TableDef, TableDefaults
from airflow_trickle.identifiers import fold

_INDENT = "  "
#: Words that YAML does not take as a text.
_WORDS = frozenset(["false", "n", "no", "null", "off", "on", "true", "y", "yes"])
#: What a block of YAML cannot hold: control characters, and line breaks that would become others.
_NOT_IN_BLOCK = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def suggestion(decomposition: Decomposition, table: TableDef, pipeline: PipelineDef | None = None) -> str:
    """The part of a pipeline file that replaces the entry of ``table``, as YAML.

    The CTEs become circular stream tables; the table keeps its name and what its entry says.

    Args:
        decomposition: What becomes of the query.
        table: The entry.
        pipeline: The file it is in, whose defaults hold for the new entries too.
    """
    unsafe = pipeline is not None and pipeline.overrides.allow_circular == "unsafe"
    defaults = TableDefaults() if pipeline is None else pipeline.defaults
    lines = [f"allow_circular: {'unsafe' if unsafe else 'true'}", "stream_tables:"]
    for member in decomposition.members:
        lines.append(f"{_INDENT}{_key(member.name)}:")
        lines += [f"{_INDENT * 2}{line}" for line in _options(member, table, defaults)]
        lines.append(f"{_INDENT * 2}query: {_text(member.query, _INDENT * 3)}")
    return "\n".join(lines) + "\n"


def _options(member: Member, table: TableDef, defaults: TableDefaults) -> Iterator[str]:
    """What an entry says; left out is only what holds without saying so, here and by default."""
    built_in = TableDefaults()
    if member.cte is not None:
        yield "refresh_mode: DIFFERENTIAL"
        if table.max_fixpoint_iterations is not None:
            yield f"max_fixpoint_iterations: {table.max_fixpoint_iterations}"
    else:
        if table.description:
            yield f"description: {_quoted(table.description)}"
        if not table.refresh_mode == defaults.refresh_mode == built_in.refresh_mode:
            yield f"refresh_mode: {table.refresh_mode}"
        yield from _state(table, defaults)
        if table.partition_by:
            yield f"partition_by: [{', '.join(_quoted(text) for text in table.partition_by)}]"
        if table.cluster_by:
            yield f"cluster_by: [{', '.join(_quoted(as_written(name)) for name in table.cluster_by)}]"
    if table.schedule is not None:
        yield f"schedule: {_quoted(table.schedule)}"
    if table.diamond_consistency is not None:
        yield f"diamond_consistency: {_key(table.diamond_consistency)}"
    if not table.diamond_schedule_policy == defaults.diamond_schedule_policy == built_in.diamond_schedule_policy:
        yield f"diamond_schedule_policy: {table.diamond_schedule_policy}"
    if table.owner is not None:
        yield f"owner: {_quoted(table.owner)}"
    if table.tags or defaults.tags:
        yield f"tags: [{', '.join(_quoted(tag) for tag in table.tags)}]"


def _state(table: TableDef, defaults: TableDefaults) -> Iterator[str]:
    if not table.state == defaults.state == TableDefaults().state:
        yield f"state: {_key(table.state)}"
    if table.state_max_bytes is not None and table.state != "none":
        yield f"state_max_bytes: {table.state_max_bytes}"


def _key(name: str) -> str:
    """A name that is a text to YAML, in quotes where it would be something else."""
    return _quoted(name) if fold(name) in _WORDS else name


def _text(text: str, indent: str) -> str:
    """A text as a block, line by line, or in double quotes where a block would change it."""
    body = text.rstrip("\n")
    if not body.strip() or _NOT_IN_BLOCK.search(text):
        return _quoted(text)
    ends = len(text) - len(body)
    # A block's own indentation is told by its first line, unless that begins with a blank.
    header = "|" + (str(len(_INDENT)) if text[0] in " \t\n" else "") + ("-" if ends == 0 else "+" if ends > 1 else "")
    lines = body.split("\n") + [""] * (ends - 1)
    return "\n".join([header, *(f"{indent}{line}" if line else "" for line in lines)])


def _quoted(text: str) -> str:
    return f'"{"".join(_ESCAPES.get(character) or _escaped(character) for character in text)}"'


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\u{code:04x}"
