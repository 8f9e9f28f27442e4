"""Schedules and start dates as text: what is allowed, and what it means."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

#: The presets that Airflow turns into cron expressions.
PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
#: As often as the tables that read it need it.
CALCULATED = "calculated"
#: Whenever a source is updated.
ASSET = "asset"
ALLOWED = (
    "a duration (30s, 5m, 1h30m, 1d), a cron expression of five fields (*/5 * * * *), "
    "or one of @hourly, @daily, @weekly, @monthly, @quarterly, @yearly"
)

_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
#: Among the days of the month of a cron expression: the last one, which is written as L.
LAST_DAY = 0
#: Name, lowest, highest, and the words that stand for numbers from the lowest on.
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DATE = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:(?:[Tt]|[ ]+)(\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?[ ]*(Z|z|[+-]\d{2}:\d{2})?)?",
    re.ASCII,
)


def parse_duration(text: str) -> timedelta:
    """The length of time that ``text`` stands for; raises ValueError if it stands for none.

    >>> parse_duration("1h30m").total_seconds()
    5400.0
    """
    found = _DURATION.fullmatch(text)
    if not text or found is None:
        raise ValueError(f"{text!r} is not a duration such as 30s, 5m, 1h30m or 1d")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    length = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    if not length:
        raise ValueError(f"{text!r} is a duration of zero")
    return length


def is_duration(text: str) -> bool:
    """Whether ``text`` is a duration such as ``1h30m``."""
    try:
        parse_duration(text)
    except ValueError:
        return False
    return True


def same_schedule(one: str | None, other: str | None) -> bool:
    """Whether two schedules tick at the same moments, as far as their text tells.

    >>> same_schedule("60m", "1h")
    True
    """
    if one is None or other is None:
        return one is other
    if is_duration(one) and is_duration(other):
        return parse_duration(one) == parse_duration(other)
    return one == other


_UNITS = {"d": ("day", "days"), "h": ("hour", "hours", "hr", "hrs"), "m": ("min", "mins", "minute", "minutes")}
_UNITS["s"] = ("sec", "secs", "second", "seconds")
_WORDS = {word: unit for unit, words in _UNITS.items() for word in (unit, *words)}


def meant_duration(text: str) -> str | None:
    """The duration that somebody has probably meant who writes it as elsewhere, or None.

    >>> meant_duration("every 15 minutes"), meant_duration("1 hour 30 min"), meant_duration("soon")
    ('15m', '1h30m', None)
    """
    parts = re.fullmatch(r"\s*(?:every\s+)?((?:\d+\s*[a-z]+[\s,]*)+)", text.lower())
    found = re.findall(r"(\d+)\s*([a-z]+)", parts[1]) if parts else []
    if not found or any(word not in _WORDS for _, word in found):
        return None
    spelt = "".join(f"{number}{_WORDS[word]}" for number, word in found)
    return spelt if is_duration(spelt) else None


def check_schedule(text: str) -> str:
    """The schedule in its normal spelling; raises ValueError with the reason why it is none.

    >>> check_schedule("*/5  * * * *")
    '*/5 * * * *'
    """
    words = text.split()
    if len(words) == 1:
        word = words[0].lower()
        if word in PRESETS:
            return word
        return _check_word(word)
    _, _, days, months, _ = cron_numbers(text)
    possible = any(day <= _LONGEST_MONTH[month - 1] for day in days for month in months)
    if not possible and words[4] == "*":
        raise ValueError("no month of those has such a day")
    return " ".join(words)


def cron_numbers(text: str) -> tuple[set[int], ...]:
    """The numbers each field of a cron expression stands for; raises ValueError with the reason why it is none.

    >>> cron_numbers("0 6-7 1,l jan sun")
    ({0}, {6, 7}, {0, 1}, {1}, {0})
    """
    words = text.lower().split()
    if len(words) != len(_FIELDS):
        raise ValueError(f"a cron expression has five fields, this has {len(words)}")
    return tuple(_check_field(word, *field) for word, field in zip(words, _FIELDS, strict=True))


def _check_word(word: str) -> str:
    if word.startswith("@"):
        raise ValueError("there is no such preset")
    # Says why: '0s' is no schedule although it looks like a duration.
    parse_duration(word)
    return word


def _check_field(text: str, name: str, low: int, high: int, words: tuple[str, ...]) -> set[int]:
    """The numbers a cron field stands for."""
    numbers: set[int] = set()
    for part in text.split(","):
        if name == "day of the month" and part == "l":
            numbers.add(LAST_DAY)
            continue
        span, slash, step = part.partition("/")
        if slash and (not step.isdecimal() or int(step) < 1):
            raise ValueError(f"'{part}' is not a {name}: the step after '/' must be a number of at least 1")
        first, dash, last = span.partition("-")
        if span == "*":
            begin, end = low, high
        else:
            begin = _number(first, part, name, low, high, words)
            end = _number(last, part, name, low, high, words) if dash else begin
            if slash and not dash:
                raise ValueError(f"'{part}' is not a {name}: a step needs a range, such as {low}-{high}{slash}{step}")
        if begin > end:
            raise ValueError(f"'{part}' is not a {name}: the range runs backwards")
        numbers.update(range(begin, end + 1, int(step or 1)))
    return numbers


def _number(text: str, part: str, name: str, low: int, high: int, words: tuple[str, ...]) -> int:
    if text in words:
        return low + words.index(text)
    if not (text.isascii() and text.isdecimal() and low <= int(text) <= high):
        also = f" or {words[0]}-{words[-1]}" if words else ""
        raise ValueError(f"'{part}' is not a {name} ({low}-{high}{also})")
    return int(text)


def check_start_date(text: str) -> str:
    """A date or moment in ISO form, with its time zone if the text names one.

    >>> check_start_date("2026-01-01"), check_start_date("2026-01-01 06:00Z")
    ('2026-01-01T00:00:00', '2026-01-01T06:00:00+00:00')
    """
    found = _DATE.fullmatch(text.strip())
    if found is None:
        raise ValueError("not a date")
    day, clock, zone = found.groups()
    offset = "" if zone is None else "+00:00" if zone in "Zz" else zone
    moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{offset}")
    if moment.tzinfo is not None and moment.utcoffset() == timedelta(0):
        moment = moment.astimezone(timezone.utc)
    return moment.isoformat()
