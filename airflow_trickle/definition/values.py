"""The values a pipeline file may hold: each type says what it must be, for people and for JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from airflow_trickle.definition import partitioning, schedules, zones
from airflow_trickle.definition.words import choice_of, given, listed, nearest, shortened

NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
PIPELINE_PATTERN = r"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"
TABLE_PATTERN = r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$"
PATH_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$"
#: Airflow keeps DAG ids in a column of 250 characters; room is left for what is made of them.
_LONGEST_PIPELINE = 200
_LONGEST_SCHEDULE = 1_000

#: Error types of our own: `messages` completes "must" with what was given; "refused" is a whole sentence.
MUST = "trickle_must"
REFUSED = "trickle_refused"


def must(what: str, hint: str = "") -> NoReturn:
    """Refuse a value that is not ``what`` it must be."""
    raise PydanticCustomError(MUST, "{must}", {"must": what, "hint": hint})


def refuse(message: str, hint: str = "") -> NoReturn:
    """Refuse a value for a reason of its own."""
    raise PydanticCustomError(REFUSED, "{message}", {"message": message, "hint": hint})


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    scalar = value is not None and not isinstance(value, (dict, list))
    must("a text", "Put it in quotes." if scalar else "")


def _flag(value: Any) -> bool:
    return value if isinstance(value, bool) else must("true or false")


def _circular(value: Any) -> bool | str:
    if isinstance(value, bool):
        return value
    return "unsafe" if value == "unsafe" else must("true, false or unsafe")


def _count(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    must("a whole number of at least 1")


#: The letters behind a number of bytes, by how many bytes they stand for.
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_SIZE = re.compile(r"\s*(\d+)\s*([kmgt]?)(?:i?b)?\s*", re.IGNORECASE)


def _bytes(value: Any) -> int:
    """A number of bytes, or a text such as 512m."""
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    found = _SIZE.fullmatch(text)
    size = int(found[1]) * _UNITS[found[2].lower()] if found else 0
    return size if size >= 1 else must("a size such as 512m or 2g, or a whole number of bytes of at least 1")


def _passes(value: Any) -> int | str:
    if isinstance(value, str) and value.strip().lower() == "all":
        return "all"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    must("a whole number of at least 1, or all")


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        must("a list of texts", f"Write [{value}]." if isinstance(value, str) and value.isidentifier() else "")
    for item in value:
        if not isinstance(item, str):
            must("a list of texts", "Put what looks like a number, a date or a truth value in quotes.")
    return tuple(value)


def matching(pattern: str, what: str) -> Callable[[Any], str]:
    """Checks that a value is a text of that pattern."""
    compiled = re.compile(pattern)

    def check(value: Any) -> str:
        text = _text(value)
        # `$` alone would let a line break at the end pass.
        return text if compiled.match(text) and not text.endswith("\n") else must(what)

    return check


def _pipeline(value: Any) -> str:
    what = "made of letters, digits, '_', '-' and '.', since it names the DAG"
    name = matching(PIPELINE_PATTERN, what)(value)
    return name if len(name) <= _LONGEST_PIPELINE else must(f"at most {_LONGEST_PIPELINE} characters long")


def choice(words: Sequence[str], elsewhere: Mapping[str, str] | None = None) -> Callable[[Any], str]:
    """Checks that a value is one of some words, whatever its case; ``elsewhere``: what others call them."""
    allowed = listed(words, "or")

    def check(value: Any) -> str:
        text = value if isinstance(value, str) else ""
        found = choice_of(text, words)
        if found is None:
            near = (elsewhere or {}).get(text.strip().upper()) or nearest(text, words)
            must(allowed, f"Did you mean {near}?" if near else "")
        return found

    return check


def _schedule_of(words: Sequence[str]) -> Callable[[Any], str]:
    """A schedule, or one of these words."""
    allowed = schedules.ALLOWED + "".join(f", or {word}" for word in words)

    def check(value: Any) -> str:
        text = value if isinstance(value, str) else ""
        word = text.strip().lower()
        if word in words:
            return word
        if word == schedules.CALCULATED:
            hint = "Give it to a table, and the pipeline a schedule of its own."
            refuse("the schedule 'calculated' is for stream tables: it follows those that read them.", hint)
        if not word:
            must(allowed)
        if len(text) > _LONGEST_SCHEDULE:
            refuse(f"the schedule {shortened(text)} is not one: it has {len(text):,} characters.", f"Give {allowed}.")
        try:
            return schedules.check_schedule(text)
        except ValueError as error:
            if (meant := schedules.meant_duration(text)) is not None:
                must(allowed, f"Did you mean {meant}?")
            if len(word.split()) == 1 and not word[:1].isdigit():
                near = nearest(word, (*schedules.PRESETS, *words))
                must(allowed, f"Did you mean {near}?" if near else "")
            refuse(f"the schedule {shortened(text)} is not one: {error}.", f"Give {allowed}.")

    return check


def _start_date(value: Any) -> str:
    try:
        return schedules.check_start_date(value if isinstance(value, str) else "")
    except ValueError:
        must("a date such as 2026-01-31, or a moment such as 2026-01-31T06:00:00+01:00")


def _timezone(value: Any) -> str:
    try:
        return zones.check_timezone(value if isinstance(value, str) else "")
    except ValueError as error:
        must("a time zone of the IANA database, such as Europe/Berlin", str(error) if isinstance(value, str) else "")


def _partition_by(value: Any) -> tuple[str, ...]:
    with _said_of("partition_by"):
        items = [partitioning.parse_partition(text) for text in _listed_texts(value, f"a list of {_PARTITIONS}")]
        partitioning.refuse_twice([item.column for item in items])
    return tuple(str(item) for item in items)


def _cluster_by(value: Any) -> tuple[str, ...]:
    with _said_of("cluster_by"):
        names = [partitioning.parse_column(text) for text in _listed_texts(value, "a list of columns")]
        partitioning.refuse_twice(names)
    return tuple(names)


def _lattice(value: Any) -> tuple[tuple[str, str], ...]:
    what = "a mapping from one column to min or max, such as {cost: min}"
    if not isinstance(value, dict) or not value:
        must(what)
    if len(value) > 1:
        refuse(f"lattice: {len(value)} columns are given, but a table has one at most.", f"Give {what}.")
    ((column, best),) = value.items()
    if not column.strip():
        must(what)
    found = choice_of(best, _BEST) if isinstance(best, str) else None
    if found is None:
        near = nearest(best, _BEST) if isinstance(best, str) else None
        hint = f"Did you mean {near}?" if near else f"Write {{{column}: min}} or {{{column}: max}}."
        refuse(f"lattice: '{column}' is {given(best)}, but must be min or max.", hint)
    return ((column, found),)


_BEST = ("min", "max")
_PARTITIONS = "columns, or of years(c), months(c), days(c), hours(c) or truncate(n, c) of a column c"


def _listed_texts(value: Any, what: str) -> list[str]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    hint = "Put what looks like a number, a date or a truth value in quotes." if isinstance(value, list) else ""
    must(what, f'Write ["{value}"].' if isinstance(value, str) and value.strip() else hint)


@contextmanager
def _said_of(key: str) -> Iterator[None]:
    try:
        yield
    except partitioning.NotALayout as error:
        refuse(f"{key}: {error}", error.hint)


def any_case(words: Sequence[str]) -> dict[str, Any]:
    """A schema that completes the words as they are and accepts them in any case."""
    spelt = ("".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else c for c in word) for word in words)
    return {"anyOf": [{"enum": list(words)}, {"type": "string", "pattern": f"^({'|'.join(spelt)})$"}]}


_SCHEDULE_SCHEMA = {
    "type": "string",
    "pattern": (
        r"^\s*((?=[0-9])([0-9]+[Dd])?([0-9]+[Hh])?([0-9]+[Mm])?([0-9]+[Ss])?|\S+\s+\S+\s+\S+\s+\S+\s+\S+|"
        r"@([Hh]ourly|[Dd]aily|[Ww]eekly|[Mm]onthly|[Qq]uarterly|[Yy]early)|[Aa]sset{words})\s*$"
    ),
    "examples": ["5m", "1h30m", "*/15 * * * *", "@hourly"],
}


def _schedule_schema(words: str = "", *, asset: bool = True) -> dict[str, Any]:
    pattern = str(_SCHEDULE_SCHEMA["pattern"]).replace("{words}", words)
    return {**_SCHEDULE_SCHEMA, "pattern": pattern if asset else pattern.replace("|[Aa]sset", "")}


_DATE_SCHEMA = {"type": "string", "pattern": r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}", "examples": ["2026-01-01"]}

Text = Annotated[str, BeforeValidator(_text), WithJsonSchema({"type": "string"})]
Flag = Annotated[bool, BeforeValidator(_flag), WithJsonSchema({"type": "boolean"})]
Circular = Annotated[
    bool | Literal["unsafe"], BeforeValidator(_circular), WithJsonSchema({"enum": [True, False, "unsafe"]})
]
Count = Annotated[int, BeforeValidator(_count), WithJsonSchema({"type": "integer", "minimum": 1})]
Passes = Annotated[
    int | Literal["all"],
    BeforeValidator(_passes),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, any_case(("all",))]}),
]
Texts = Annotated[
    tuple[str, ...], BeforeValidator(_texts), WithJsonSchema({"type": "array", "items": {"type": "string"}})
]
PipelineName = Annotated[
    str,
    BeforeValidator(_pipeline),
    WithJsonSchema({"type": "string", "pattern": PIPELINE_PATTERN, "maxLength": _LONGEST_PIPELINE}),
]
Name = Annotated[
    str,
    BeforeValidator(matching(NAME_PATTERN, "made of letters, digits and '_', and may not begin with a digit")),
    WithJsonSchema({"type": "string", "pattern": NAME_PATTERN}),
]
TableName = Annotated[
    str,
    BeforeValidator(matching(TABLE_PATTERN, "the name of an Iceberg table, such as namespace.table")),
    WithJsonSchema({"type": "string", "pattern": TABLE_PATTERN}),
]
DottedPath = Annotated[
    str,
    BeforeValidator(matching(PATH_PATTERN, "the dotted path of a function, such as my_package.alerts.notify")),
    WithJsonSchema({"type": "string", "pattern": PATH_PATTERN}),
]
_MODES = ("AUTO", "FULL", "DIFFERENTIAL")
#: What others call our modes.
_MODES_ELSEWHERE = {"INCREMENTAL": "DIFFERENTIAL", "DELTA": "DIFFERENTIAL", "COMPLETE": "FULL", "FORCE": "AUTO"}
RefreshMode = Annotated[str, BeforeValidator(choice(_MODES, _MODES_ELSEWHERE)), WithJsonSchema(any_case(_MODES))]
MutualRecursion = Annotated[
    str, BeforeValidator(choice(("auto", "suggest"))), WithJsonSchema(any_case(("auto", "suggest")))
]
StateChoice = Annotated[
    str, BeforeValidator(choice(("auto", "none", "all"))), WithJsonSchema(any_case(("auto", "none", "all")))
]
Bytes = Annotated[
    int,
    BeforeValidator(_bytes),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": r"^\s*[0-9]+\s*([KkMmGgTt]?)([Ii]?[Bb])?\s*$"},
            ],
            "examples": ["512m", "2g"],
        }
    ),
]
Consistency = Annotated[str, BeforeValidator(choice(("atomic", "none"))), WithJsonSchema(any_case(("atomic", "none")))]
GroupPolicy = Annotated[
    str, BeforeValidator(choice(("slowest", "fastest"))), WithJsonSchema(any_case(("slowest", "fastest")))
]
Schedule = Annotated[str, BeforeValidator(_schedule_of((schedules.ASSET,))), WithJsonSchema(_schedule_schema())]
ClockSchedule = Annotated[str, BeforeValidator(_schedule_of(())), WithJsonSchema(_schedule_schema(asset=False))]
TableSchedule = Annotated[
    str,
    BeforeValidator(_schedule_of((schedules.CALCULATED, schedules.ASSET))),
    WithJsonSchema(_schedule_schema("|[Cc]alculated")),
]
TimeZone = Annotated[
    str,
    BeforeValidator(_timezone),
    WithJsonSchema({"type": "string", "pattern": r"^\s*[A-Za-z0-9_+/-]+\s*$", "examples": ["Europe/Berlin", "UTC"]}),
]
StartDate = Annotated[str, BeforeValidator(_start_date), WithJsonSchema(_DATE_SCHEMA)]


def _layout_schema(pattern: str, *examples: str) -> dict[str, Any]:
    items = {"type": "string", "pattern": pattern}
    return {"type": "array", "items": items, "uniqueItems": True, "examples": [list(examples)]}


PartitionBy = Annotated[
    tuple[str, ...],
    BeforeValidator(_partition_by),
    WithJsonSchema(_layout_schema(partitioning.PARTITION_PATTERN, "months(ordered_at)")),
]
ClusterBy = Annotated[
    tuple[str, ...],
    BeforeValidator(_cluster_by),
    WithJsonSchema(_layout_schema(partitioning.COLUMN_PATTERN, "customer")),
]
Lattice = Annotated[
    tuple[tuple[str, str], ...],
    BeforeValidator(_lattice),
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"pattern": r"\S"},
            "additionalProperties": any_case(_BEST),
            "minProperties": 1,
            "maxProperties": 1,
            "examples": [{"cost": "min"}],
        }
    ),
]
