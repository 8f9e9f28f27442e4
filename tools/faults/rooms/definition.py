"""Faults in reading pipeline files and settings."""

from __future__ import annotations

from tools.faults.fault import Fault, Room

_DEFINITION = Room("definition", "airflow_trickle/definition", tests=("tests/definition", "tests/plan"))

DEFINITION: tuple[Fault, ...] = (
    _DEFINITION.fault(
        "unknown-key-accepted",
        "a key that does not exist is ignored",
        "model.py",
        'ConfigDict(extra="forbid", frozen=True)',
        'ConfigDict(extra="ignore", frozen=True)',
        tests=("tests/definition/test_messages.py",),
    ),
    _DEFINITION.fault(
        "durations-have-a-zone",
        "a duration in a pipeline with a time zone is taken for something that a clock tells",
        "zones.py",
        "if schedule is None or zone == UTC or schedule in (ASSET, CALCULATED) or is_duration(schedule):",
        "if schedule is None or zone == UTC or schedule in (ASSET, CALCULATED):",
        tests=("tests/analysis/test_cron_in_zones.py",),
    ),
    _DEFINITION.fault(
        "line-number-off-by-one",
        "problems are shown one line too high",
        "document.py",
        "return Position(self.file, node.start_mark.line + 1, node.start_mark.column + 1)",
        "return Position(self.file, node.start_mark.line, node.start_mark.column + 1)",
        tests=("tests/definition/test_documents.py",),
    ),
    _DEFINITION.fault(
        "numbers-of-any-length",
        "a number of a megabyte is read, digit by digit",
        "document.py",
        "if len(node.value) > _MAX_NUMBER:",
        "if len(node.value) < 0:",
        tests=("tests/definition/test_limits.py",),
    ),
    _DEFINITION.fault(
        "every-problem-is-told",
        "a file with thousands of wrong keys is told key by key",
        "messages.py",
        "(include_url=False)[:MOST_PROBLEMS]",
        "(include_url=False)",
        tests=("tests/definition/test_limits.py",),
    ),
    _DEFINITION.fault(
        "key-given-twice-accepted",
        "of a key that is given twice the second one wins silently",
        "document.py",
        "                if name in pairs:\n",
        "                if name in pairs and value is None:\n",
        tests=("tests/definition/test_documents.py",),
    ),
    _DEFINITION.fault(
        "defaults-beat-the-table",
        "the defaults of a pipeline win over what a table says",
        "pipeline_file.py",
        "return getattr(defaults, key) if own is None else own",
        "return own if getattr(defaults, key) is None else getattr(defaults, key)",
        tests=("tests/definition/test_loading.py",),
    ),
    _DEFINITION.fault(
        "file-beats-environment",
        "airflow.cfg wins over the environment",
        "settings.py",
        "for place, name, text in (*_from_file(_config_file(environ)), *_from_environment(environ)):",
        "for place, name, text in (*_from_environment(environ), *_from_file(_config_file(environ))):",
        tests=("tests/definition/test_settings.py",),
    ),
    _DEFINITION.fault(
        "half-hours-are-lost",
        "the minutes of a duration such as 1h30m do not count",
        "schedules.py",
        "length = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)",
        "length = timedelta(days=days, hours=hours, minutes=minutes if not hours else 0, seconds=seconds)",
        tests=("tests/definition/test_schedules.py", "tests/analysis/test_effective_schedules.py"),
    ),
)
