"""One YAML document to one `PipelineDef`, keeping what can be kept of a broken one."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from airflow_trickle.definition.document import Document
from airflow_trickle.definition.limits import read_bytes
from airflow_trickle.definition.maintenance import MaintenanceDef, MaintenancePolicy
from airflow_trickle.definition.messages import MOST_PROBLEMS, Loc, problems_of
from airflow_trickle.definition.model import CALLBACKS, DefaultsModel, PipelineModel, TableModel
from airflow_trickle.definition.records import (
    CaptureDef,
    Overrides,
    PipelineDef,
    SourceDef,
    TableDef,
    TableDefaults,
    TaskDef,
)
from airflow_trickle.definition.source_model import SourceModel
from airflow_trickle.definition.sql_text import SqlText
from airflow_trickle.definition.words import given, nearest, shortened
from airflow_trickle.errors import Problem
from airflow_trickle.identifiers import fold

#: A folder of the warehouse has the name of its table, and no file system takes more than 255 bytes.
_LONGEST_IDENTIFIER = 200


class PipelineFile:
    """Reads one document; ``problems`` fills as it goes.

    Args:
        document: The YAML.
        path: Where the file is, to find the files of its queries.
        root: The folder that the files of its queries must not leave.
    """

    def __init__(self, document: Document, path: Path, root: Path) -> None:
        self.document = document
        self.problems: list[Problem] = list(document.problems)
        #: How many more there are, of which nobody was told.
        self.untold = 0
        self._path = path
        self._root = root
        self._unread: list[str] = []
        self._nameless = False
        self._namespace = "default"
        #: What was left out because it is wrong; it must not be blamed again for what it is not.
        self._removed: set[Loc] = set()

    def read(self) -> PipelineDef | None:
        """The pipeline, or None where nothing of it can be used."""
        data = self.document.data
        if not isinstance(data, dict):
            self._problem(
                (),
                f"the file is {given(data)}, but must be a mapping.",
                "Begin it with `pipeline: <name>`.",
            )
            return None
        model = self._validated({**data, "sources": self._named(data.get("sources"))})
        if model is None:
            return None
        self._check_names(model)
        namespace = self._namespace = self._namespace_of(model)
        sources = [self._source(name, source, namespace) for name, source in (model.sources or {}).items()]
        tables = [self._table(name, table, model) for name, table in model.stream_tables.items()]
        overrides = {item.name: getattr(model, item.name) for item in fields(Overrides)}
        callbacks = ((key, getattr(model, key)) for key in CALLBACKS)
        return PipelineDef(
            name="" if self._nameless else model.pipeline,
            namespace=namespace,
            file=self.document.file,
            at=self.document.position(("pipeline",)),
            sources=tuple(sources),
            tables=tuple(table for table in tables if table is not None),
            unread=tuple(
                (f"{namespace}.{name}", self.document.key_position(("stream_tables", name))) for name in self._unread
            ),
            description=model.description or "",
            owner=model.owner,
            tags=model.tags or (),
            schedule=model.schedule,
            start_date=model.start_date,
            catchup=bool(model.catchup),
            overrides=Overrides(**overrides),
            defaults=_defaults(model),
            callbacks=tuple((key, path) for key, path in callbacks if path is not None),
            maintenance=_maintenance(model),
        )

    def _problem(self, loc: Loc, message: str, hint: str = "", *, key: bool = False) -> None:
        at = self.document.key_position(loc) if key else self.document.position(loc)
        self.problems.append(Problem(at, message, hint))

    def _named(self, sources: Any) -> Any:
        """``[a, b]`` as ``{a: {}, b: {}}``."""
        if not isinstance(sources, list) or not all(isinstance(name, str) for name in sources):
            return sources
        named: dict[str, Any] = {}
        for index, name in enumerate(sources):
            if name in named:
                self._problem(("sources", index), f"the source '{name}' is given twice.", "Keep one of them.")
            named[name] = {}
        return named

    def _validated(self, data: dict[str, Any]) -> PipelineModel | None:
        """The model of the data, without what is wrong in it."""
        # Checks of a whole table run only when its keys are good, so errors may come in several rounds.
        for _ in range(4):
            try:
                return PipelineModel.model_validate(data)
            except ValidationError as error:
                for loc, problem in problems_of(error, self.document):
                    self.problems.append(problem)
                    self._remove(data, loc)
                if (more := error.error_count() - MOST_PROBLEMS) > 0:
                    self.untold = more
                    return None
                if "pipeline" not in data:
                    self._nameless = True
                    data["pipeline"] = "nameless"
                if not data.get("stream_tables"):
                    return None
        return None

    def _namespace_of(self, model: PipelineModel) -> str:
        wrong = self.document.data.get("namespace") if ("namespace",) in self._removed else None
        return wrong if isinstance(wrong, str) else model.namespace or "default"

    def _remove(self, data: dict[str, Any], loc: Loc) -> None:
        name_is_good = "[key]" not in loc
        loc = tuple(step for step in loc if step != "[key]")
        self._removed.add(loc)
        if len(loc) == 2 and loc[0] == "stream_tables" and loc[1] not in self._unread:
            self._unread.append(str(loc[1]))
        inner: Any = data
        for step in loc[:-1]:
            inner = inner.get(step) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and loc:
            inner.pop(loc[-1], None)
            if len(loc) == 2 and loc[0] == "sources" and name_is_good:
                # Queries that read it must not be blamed for naming nothing.
                inner[loc[-1]] = {}

    def _check_names(self, model: PipelineModel) -> None:
        seen: dict[str, tuple[str, str]] = {}
        for part, kind, names in (
            ("sources", "source", model.sources or {}),
            ("stream_tables", "stream table", model.stream_tables),
        ):
            for name in names:
                self._check_length(part, kind, name, self._namespace_of(model))
                other_kind, other = seen.setdefault(fold(name), (kind, name))
                if other == name and other_kind == kind:
                    continue
                if other_kind != kind:
                    message = f"'{name}' is both a source and a stream table."
                else:
                    message = f"the {kind}s '{other}' and '{name}' differ only in upper and lower case."
                self._problem((part, name), message, "Rename one of them.", key=True)

    def _check_length(self, part: str, kind: str, name: str, namespace: str) -> None:
        length = len(f"{namespace}.{name}")
        if length > _LONGEST_IDENTIFIER:
            message = f"the {kind} {shortened(name)} has {length} characters with its namespace."
            self._problem((part, name), message, f"It may have {_LONGEST_IDENTIFIER} at most.", key=True)

    def _source(self, name: str, source: SourceModel | None, namespace: str) -> SourceDef:
        table = (source.table if source else None) or name
        return SourceDef(
            name=name,
            identifier=table if "." in table else f"{namespace}.{table}",
            at=self.document.key_position(("sources", name)),
            description=(source.description if source else None) or "",
            capture=_capture(source) if source else None,
        )

    def _table(self, name: str, table: TableModel, model: PipelineModel) -> TableDef | None:
        defaults, built_in = model.defaults or DefaultsModel(), TableDefaults()

        def option(key: str) -> Any:
            own = getattr(table, key)
            return getattr(defaults, key) if own is None else own

        sql = self._sql(name, table)
        if sql is None:
            self._unread.append(name)
            return None
        return TableDef(
            name=name,
            identifier=f"{self._namespace}.{name}",
            sql=sql,
            at=self.document.key_position(("stream_tables", name)),
            refresh_mode=option("refresh_mode") or built_in.refresh_mode,
            state=option("state") or built_in.state,
            state_max_bytes=option("state_max_bytes"),
            schedule=option("schedule"),
            diamond_consistency=option("diamond_consistency"),
            diamond_schedule_policy=option("diamond_schedule_policy") or built_in.diamond_schedule_policy,
            max_fixpoint_iterations=option("max_fixpoint_iterations"),
            mutual_recursion=option("mutual_recursion"),
            description=table.description or "",
            owner=option("owner"),
            tags=option("tags") or (),
            partition_by=table.partition_by or (),
            cluster_by=table.cluster_by or (),
            lattice=table.lattice or (),
            lattice_at=self.document.key_position(("stream_tables", name, "lattice")) if table.lattice else None,
            task=TaskDef(**{item.name: option(item.name) for item in fields(TaskDef)}),
            spark_conf=tuple(sorted({**(defaults.spark_conf or {}), **(table.spark_conf or {})}.items())),
        )

    def _sql(self, name: str, table: TableModel) -> SqlText | None:
        if table.query_file is None:
            return self.document.sql(("stream_tables", name, "query"))
        loc = ("stream_tables", name, "query_file")
        where = f"stream table '{name}': the query file '{table.query_file}'"
        path = self._path.parent / table.query_file
        try:
            inside = path.resolve().is_relative_to(self._root.resolve())
            if not inside:
                self._problem(loc, f"{where} is outside the project folder '{self._root}'.", "Move it into the folder.")
                return None
            text = read_bytes(path).decode("utf-8-sig")
        except FileNotFoundError:
            self._problem(loc, f"{where} does not exist.", self._neighbour(path))
            return None
        except UnicodeDecodeError as error:
            self._problem(loc, f"{where} is not UTF-8 text (byte {error.start}).", "Save it as UTF-8.")
            return None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self._problem(loc, f"{where} cannot be read: {reason}.")
            return None
        label = os.path.normpath(os.path.join(os.path.dirname(self.document.file), table.query_file))
        return SqlText(text.replace("\r\n", "\n"), label)

    def _neighbour(self, path: Path) -> str:
        try:
            names = [entry.name for entry in path.parent.iterdir()]
        except OSError:
            names = []
        near = nearest(path.name, names)
        return f"Did you mean '{near}'?" if near else "The path is relative to the YAML file."


def _capture(source: SourceModel) -> CaptureDef | None:
    if source.format is None:
        return None
    return CaptureDef(
        format=source.format,
        method=source.method,
        path=source.path,
        options=tuple(sorted((source.options or {}).items())),
        columns=source.columns,
        watermark=source.watermark,
    )


def _maintenance(model: PipelineModel) -> MaintenanceDef | None:
    said = model.maintenance
    if said is None:
        return None
    knobs = {item.name: getattr(said, item.name) for item in fields(MaintenancePolicy)}
    policy = MaintenancePolicy(**{name: value for name, value in knobs.items() if value is not None})
    return MaintenanceDef(said.schedule, policy)


def _defaults(model: PipelineModel) -> TableDefaults:
    said = {item.name: getattr(model.defaults, item.name, None) for item in fields(TableDefaults)}
    return TableDefaults(**{name: value for name, value in said.items() if value is not None})
