"""Delta tables, written and judged by the package deltalake."""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyroaring import BitMap

from airflow_trickle import Mode, TrickleError
from tests.engine.capture.folders import Lake
from tests.engine.world import bag

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("amount", pa.decimal128(10, 2)), ("day", pa.date32())])


FEATURES = ("readerFeatures", "writerFeatures")


def rows(*ids: int, p: str | None = "a b") -> pa.Table:
    made = [{"id": id, "p": p, "amount": Decimal(id) if id else None, "day": dt.date(2026, 1, 1)} for id in ids]
    return pa.Table.from_pylist(made, schema=SCHEMA)


def judge(path: Path) -> Counter[tuple[Any, ...]]:
    return bag(pa.table(DeltaTable(path).scan()))


@pytest.mark.parametrize("partition", [[], ["day", "p"]])
def test_every_kind_of_change(lake: Lake, partition: list[str]) -> None:
    path = lake.data / "t"
    write_deltalake(path, rows(1, 1, 2, 0), partition_by=partition)
    lake.define_captured({"t": f"path: {path}\nformat: delta"}, {"copy": "SELECT * FROM t"})

    def changes() -> Any:
        yield lambda: write_deltalake(path, pa.concat_tables([rows(3, p="c%d/é"), rows(4, p=None)]), mode="append")
        yield lambda: DeltaTable(path).delete("id = 1")
        yield lambda: DeltaTable(path).update(predicate="id = 2", new_values={"amount": "20.5"})
        yield (
            lambda: (
                DeltaTable(path)
                .merge(rows(3, 9, p="x"), "s.id = t.id", source_alias="s", target_alias="t")
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .execute()
            )
        )
        yield DeltaTable(path).optimize.compact
        yield lambda: DeltaTable(path).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
        yield lambda: write_deltalake(path, rows(5, 6), mode="overwrite", partition_by=partition or None)

    result = lake.capture("t")
    assert (result.mode, result.reason) == (Mode.FULL, "first capture")
    assert lake.rows("t") == judge(path)
    for change in changes():
        change()
        assert lake.capture("t").mode in (Mode.DIFFERENTIAL, Mode.NO_DATA)
        assert lake.rows("t") == judge(path)
    assert lake.capture("t").mode is Mode.NO_DATA


def test_a_new_column_is_read_for_all_rows(lake: Lake) -> None:
    path = lake.data / "t"
    write_deltalake(path, rows(1, 2))
    lake.define_captured({"t": f"path: {path}\nformat: delta"}, {"copy": "SELECT * FROM t"})
    lake.capture("t")
    wider = rows(3).append_column("more", pa.array(["m"]))
    write_deltalake(path, wider, mode="append", schema_mode="merge")
    result = lake.capture("t")
    assert (result.mode, result.reason) == (Mode.FULL, "its columns changed")
    assert lake.rows("t") == judge(path)


def test_rows_that_a_deletion_vector_takes_away_are_gone(lake: Lake) -> None:
    path = lake.data / "t"
    write_deltalake(path, rows(1, 2, 3, 4))
    lake.define_captured({"t": f"path: {path}\nformat: delta"}, {"copy": "SELECT id FROM t"})
    lake.tick()
    add_vector(path, [1, 3])
    assert judge(path) == bag(rows(1, 3))
    results = lake.tick()
    assert (results["t"].mode, results["t"].reason) == (Mode.DIFFERENTIAL, "1 file changed")
    assert lake.rows("copy") == {(1,): 1, (3,): 1}
    assert lake.tick()["t"].mode is Mode.NO_DATA


def add_vector(path: Path, positions: list[int]) -> None:
    """A commit that deletes rows of the only file by an inline vector, as the Delta protocol describes it."""
    log = path / "_delta_log"
    add = next(json.loads(line)["add"] for line in (log / f"{0:020}.json").read_text().splitlines() if '"add"' in line)
    bits = BitMap(positions).serialize()
    blob = struct.pack("<i", 1681511377) + struct.pack("<q", 1) + struct.pack("<i", 0) + bits
    blob += b"\0" * (-len(blob) % 4)
    vector = {
        "storageType": "i",
        "pathOrInlineDv": z85(blob),
        "sizeInBytes": len(blob),
        "cardinality": len(positions),
    }
    features = ["deletionVectors"]
    actions = [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }
        },
        {"remove": {"path": add["path"], "dataChange": True, "deletionTimestamp": 1, "extendedFileMetadata": False}},
        {"add": {**add, "deletionVector": vector}},
    ]
    (log / f"{1:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))


def z85(data: bytes) -> str:
    ours = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    theirs = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    return base64.b85encode(data).decode().translate(str.maketrans(ours, theirs))


def test_what_cannot_be_read_exactly_is_refused(lake: Lake) -> None:
    path = lake.data / "t"
    lake.define_captured({"t": f"path: {path}\nformat: delta"}, {"copy": "SELECT * FROM t"})
    assert refusal(lake) == (
        f"there is no Delta table at {path}. If it should be there, check that its disk is mounted; if it moved, "
        "correct the path. What was captured before stays as it is."
    )
    write_deltalake(path, rows(1))
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **{key: ["columnMapping"] for key in FEATURES}}
    log = path / "_delta_log"
    first = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    meta = next(action["metaData"] for action in first if "metaData" in action)
    schema = json.loads(meta["schemaString"])
    for number, field in enumerate(schema["fields"], 1):
        field["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": field["name"]}
    mapped = {**meta, "schemaString": json.dumps(schema), "configuration": {"delta.columnMapping.mode": "name"}}
    actions = [{"protocol": protocol}, {"metaData": mapped}]
    (log / f"{1:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))
    assert refusal(lake) == (
        "the Delta table has delta.columnMapping.mode = name, which this version does not read. Rewrite it into a "
        "table without column mapping."
    )


def refusal(lake: Lake) -> str:
    with pytest.raises(TrickleError) as error:
        lake.capture("t")
    begin, end = f"{lake.yaml}:4:3: source 't' was not captured: ", " Nothing was published."
    message = str(error.value)
    assert message.startswith(begin), message
    assert message.endswith(end), message
    return message.removeprefix(begin).removesuffix(end)
