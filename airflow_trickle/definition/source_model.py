"""The shape of a source in a pipeline file: an Iceberg table, or something else that is captured."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from airflow_trickle.definition.source_options import check_options, holds_secret
from airflow_trickle.definition.values import TableName, Text, any_case, choice, matching, must, refuse

#: Formats whose files are compared one by one.
FILE_FORMATS = ("parquet", "csv", "json", "orc")
#: Of these, the files themselves do not tell the types of their columns.
UNTYPED_FORMATS = ("csv", "json")
DELTA = "delta"
METHODS = ("files", "snapshot", "append_only")

_FORMAT_PATTERN = r"^[A-Za-z][A-Za-z0-9_.-]*$"
_PATH_PATTERN = r"^(/|[A-Za-z][A-Za-z0-9+.-]*://?)"


def _format(value: Any) -> str:
    text = matching(_FORMAT_PATTERN, "parquet, csv, json, orc, delta, or another format that Spark reads")(value)
    # A class name keeps its case.
    return text if "." in text else text.lower()


def _path(value: Any) -> str:
    what = "an absolute path, or an address such as s3://bucket/folder"
    text = matching(_PATH_PATTERN, what)(value)
    if holds_secret(text):
        refuse("the path holds a secret, which would be in plans and logs.", "Give it to Spark and to the catalog.")
    return text.rstrip("/") if text.strip("/") else must(what)


def _filled(value: Any) -> str:
    return value if isinstance(value, str) and value.strip() else must("a text such as id BIGINT, name STRING")


Format = Annotated[
    str,
    BeforeValidator(_format),
    WithJsonSchema({"type": "string", "pattern": _FORMAT_PATTERN, "examples": [*FILE_FORMATS, DELTA, "jdbc"]}),
]
SourcePath = Annotated[
    str, BeforeValidator(_path), WithJsonSchema({"type": "string", "pattern": _PATH_PATTERN, "examples": ["/data/x"]})
]
Options = Annotated[
    dict[str, str],
    BeforeValidator(check_options),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}),
]
Columns = Annotated[str, BeforeValidator(_filled), WithJsonSchema({"type": "string", "pattern": r"\S"})]
Method = Annotated[str, BeforeValidator(choice(METHODS)), WithJsonSchema(any_case(METHODS))]


class SourceModel(BaseModel):
    """A table that others write; with a format, one that is captured into an Iceberg table of ours."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)

    table: TableName | None = Field(
        default=None, description="The Iceberg table, if it is not <namespace>.<name of the source>."
    )
    description: Text | None = Field(default=None, description="What the table holds.")
    path: SourcePath | None = Field(default=None, description="The folder of files, or of the Delta table.")
    format: Format | None = Field(
        default=None, description="parquet, csv, json, orc, delta, or another format that Spark reads, such as jdbc."
    )
    options: Options | None = Field(
        default=None, description="Options of Spark's reader; ${NAME} stands for an environment variable."
    )
    columns: Columns | None = Field(
        default=None, alias="schema", description="The columns, as in CREATE TABLE: id BIGINT, name STRING."
    )
    capture: Method | None = Field(
        default=None,
        description="files: by new, changed and vanished files; snapshot: by comparing all rows; append_only.",
    )
    watermark: Text | None = Field(default=None, description="For append_only: the column that only grows.")

    @property
    def method(self) -> str:
        """How changes are found, where the file does not say."""
        by_files = self.format in (*FILE_FORMATS, DELTA)
        return self.capture or ("files" if by_files else "snapshot")

    @model_validator(mode="after")
    def _fits_together(self) -> SourceModel:
        if self.format is None:
            self._is_an_iceberg_table()
            return self
        if self.format == "iceberg":
            refuse("format: iceberg is what a source is anyway.", "Leave path and format out; `table` names the table.")
        self._has_what_its_format_needs(self.format)
        if self.method == "append_only" and self.watermark is None:
            refuse("capture: append_only needs the column that only grows.", "Give it as `watermark`.")
        if self.watermark is not None and self.method != "append_only":
            refuse("'watermark' is for capture: append_only.", "Leave it out, or set capture: append_only.")
        return self

    def _is_an_iceberg_table(self) -> None:
        given = {
            "path": self.path,
            "options": self.options,
            "schema": self.columns,
            "capture": self.capture,
            "watermark": self.watermark,
        }
        key = next((key for key, value in given.items() if value is not None), None)
        if key is not None:
            refuse(
                f"'{key}' is given, but no 'format': is it an Iceberg table, or something to capture?",
                "Give the format, such as parquet, csv, json, orc, delta or jdbc, or leave the key out.",
            )

    def _has_what_its_format_needs(self, name: str) -> None:
        if name in (*FILE_FORMATS, DELTA) and self.path is None:
            refuse(f"format: {name} needs a 'path'.", "Give the folder, such as /data/orders or s3://bucket/orders.")
        if name in UNTYPED_FORMATS and self.columns is None:
            refuse(
                f"{name} files do not tell the types of their columns.",
                "Give them as `schema`, such as schema: id BIGINT, at TIMESTAMP, amount DECIMAL(10,2).",
            )
        if name == DELTA and (self.columns is not None or self.method != "files"):
            key = "schema" if self.columns is not None else "capture"
            refuse(f"'{key}' does not go with format: delta, whose log tells columns and files.", "Leave it out.")
        if self.method == "files" and name not in (*FILE_FORMATS, DELTA):
            refuse(
                f"capture: files is for the formats parquet, csv, json, orc and delta, not for {name}.",
                "Set capture: snapshot, or append_only with a watermark.",
            )
