"""Options of a source: texts for Spark's reader, in which secrets stand only as references."""

from __future__ import annotations

import re
from typing import Any

from airflow_trickle.definition.values import must, refuse

#: ``${NAME}``: an environment variable where the source is read; ``${conn.ID.password}``: a field of a connection.
CONNECTION = re.compile(r"conn\.([A-Za-z0-9_-]+)\.(host|port|login|password|schema)")
REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*|conn\.[A-Za-z0-9_-]+\.(?:host|port|login|password|schema))\}")

_SECRET_KEY = re.compile(
    r"passw|pwd|secret|token|credential|api.?key|private.?key|access.?key|account.?key|encryption.?key|"
    r"(?:^|[^a-z])sas(?:[^a-z]|$)",
    re.IGNORECASE,
)
#: A password inside an address: ``?password=…``, ``//user:…@host`` or, with Oracle, ``thin:user/…@host``.
_SECRET_VALUE = re.compile(
    r"(?:passw(?:or)?d|pwd|secret|token|api_?key|access_?key)\s*=\s*(?!\$\{)[^\s&;]"
    r"|//[^/@\s]*:(?!\$\{)[^/@\s]+@|:[^/:@\s]+/(?!\$\{)[^/@\s]+@",
    re.IGNORECASE,
)

_LISTS = "airflow-trickle lists the files itself, so that it knows which are new"
_WHOLE = "it would leave rows out without a word"
_ONE_READ = "several queries of one read see the table at different moments"
_SCHEMA = "the columns must not depend on which files are there"
#: Lower-case names of options that would make what is read inexact -> why.
_REFUSED = {
    "path": "the folder is given as `path` of the source",
    "paths": "the folder is given as `path` of the source",
    "basepath": _LISTS,
    "recursivefilelookup": _LISTS,
    "pathglobfilter": _LISTS,
    "modifiedbefore": _LISTS,
    "modifiedafter": _LISTS,
    "ignorecorruptfiles": _WHOLE,
    "ignoremissingfiles": _WHOLE,
    "mergeschema": _SCHEMA,
    "inferschema": _SCHEMA,
    "partitioncolumn": _ONE_READ,
    "lowerbound": _ONE_READ,
    "upperbound": _ONE_READ,
    "numpartitions": _ONE_READ,
}


def check_options(value: Any) -> dict[str, str]:
    """The options as texts; refuses secrets in plain text, and options that would make a capture inexact."""
    if not isinstance(value, dict):
        must("a mapping of options of Spark's reader, such as {header: true}")
    return {key: _checked(key, item) for key, item in value.items()}


def _checked(key: str, item: Any) -> str:
    if isinstance(item, bool):
        text = str(item).lower()
    elif isinstance(item, (str, int, float)):
        text = str(item)
    else:
        refuse(f"the option '{key}' must be a text, a number or a truth value.", "Put it in quotes.")
    why = _REFUSED.get(key.lower())
    if why is not None:
        refuse(f"the option '{key}' is not allowed: {why}.", "Leave it out.")
    bare = REFERENCE.sub("", text)
    if "${" in bare:
        refuse(
            f"the option '{key}' has a ${{…}} that is no reference.",
            "Write ${NAME} for an environment variable, or ${conn.ID.FIELD} for the host, port, login, password or "
            "schema of an Airflow connection.",
        )
    if looks_secret(key, text):
        # The value itself is not shown: messages end up in logs.
        refuse(
            f"the option '{key}' holds a secret in plain text, which would be in plans and logs.",
            "Write ${NAME} in its place, and set the environment variable NAME where Airflow's workers run; or "
            "${conn.ID.password}, the password of an Airflow connection.",
        )
    return text


def holds_secret(text: str) -> bool:
    """Whether an address has a password in it.

    >>> holds_secret("s3://id:secret@bucket/x"), holds_secret("jdbc:x://h/d?password=${PW}")
    (True, False)
    """
    return _SECRET_VALUE.search(text) is not None


def looks_secret(key: str, text: str) -> bool:
    """Whether a setting holds a secret in plain text, by its name or by its value."""
    return bool(_SECRET_KEY.search(key) and REFERENCE.sub("", text).strip()) or holds_secret(text)
