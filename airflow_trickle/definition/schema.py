"""JSON Schema of a pipeline file, for editors; ``python -m airflow_trickle.definition.schema`` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from airflow_trickle.definition.model import PipelineModel
from airflow_trickle.definition.values import NAME_PATTERN

#: The schema as it is shipped.
SCHEMA_FILE = Path(__file__).with_name("pipeline.schema.json")


def build_schema() -> dict[str, Any]:
    """The schema that the models describe."""
    schema = PipelineModel.model_json_schema()
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "airflow-trickle pipeline",
        **{key: value for key, value in _plain(schema).items() if key != "title"},
    }
    names = {"type": "array", "items": {"type": "string", "pattern": NAME_PATTERN}, "uniqueItems": True}
    schema["properties"]["sources"]["anyOf"].append(names)
    return schema


def schema_text() -> str:
    """The text of `SCHEMA_FILE`."""
    return json.dumps(build_schema(), indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    """Without titles and empty defaults that pydantic adds, and with unknown names refused."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    noise = {key for key, item in value.items() if (key, item) == ("default", None) or _is_title(key, item)}
    plain = {key: _plain(item) for key, item in value.items() if key not in noise}
    if "patternProperties" in plain:
        plain["additionalProperties"] = False
        plain.pop("propertyNames", None)
    return plain


def _is_title(key: str, item: Any) -> bool:
    return key == "title" and isinstance(item, str)


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
