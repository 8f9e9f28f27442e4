"""SQLite is for one machine: network file systems are refused, and a second host is told of PostgreSQL."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from sqlalchemy import insert, update

from airflow_trickle.errors import CatalogUnavailable, LeaseHeld
from airflow_trickle.lakehouse import database, hosts, leases
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.file_systems import file_system, network_file_system
from airflow_trickle.lakehouse.tables import leases as lease_table

MOUNTS = r"""
22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw
28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
40 28 0:34 / /home rw,relatime shared:20 - nfs4 nas:/home rw,vers=4.2
41 40 259:3 / /home/local rw,relatime shared:21 - xfs /dev/sdb1 rw
42 28 0:40 / /mnt/with\040blank rw - cifs //nas/share rw
43 28 0:41 / /mnt/s3 rw master:1 propagate_from:2 - fuse.s3fs s3fs rw
44 28 0:42 / /mnt/over rw - ext4 /dev/sdc rw
45 44 0:43 / /mnt/over rw - lustre mds@tcp:/x rw
46 28 0:44 / /homework rw - btrfs /dev/sdd rw
a line that is not one
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/catalog.db", "ext4"),
        ("/home/me/catalog.db", "nfs4"),
        ("/home", "nfs4"),
        ("/home/local/catalog.db", "xfs"),
        ("/homework/catalog.db", "btrfs"),
        ("/mnt/with blank/c.db", "cifs"),
        ("/mnt/s3/c.db", "fuse.s3fs"),
        ("/mnt/over/c.db", "lustre"),
        ("/mnt/overnight/c.db", "ext4"),
    ],
)
def test_a_path_lies_on_the_nearest_mount_and_the_later_of_two(path: str, kind: str) -> None:
    assert file_system(path, MOUNTS) == kind


def test_without_mounts_nothing_is_known(tmp_path: Path) -> None:
    assert file_system("/data/c.db", "") is None
    assert network_file_system(tmp_path / "c.db", tmp_path / "no such file") is None


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "glusterfs", "ceph", "lustre"])
def test_network_file_systems_are_known_and_local_ones_are_not(tmp_path: Path, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"28 1 259:2 / / rw - {kind} somewhere rw\n")
    assert network_file_system(tmp_path / "not" / "there" / "c.db", mounts) == kind
    for local in ("ext4", "xfs", "overlay", "tmpfs", "fuse.grpcfuse", "virtiofs"):
        mounts.write_text(f"28 1 259:2 / / rw - {local} somewhere rw\n")
        assert network_file_system(tmp_path / "c.db", mounts) is None


def test_a_link_to_a_network_file_system_is_seen_through(tmp_path: Path) -> None:
    (tmp_path / "share").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "share")
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"28 1 1:1 / / rw - ext4 x rw\n29 28 1:2 / {tmp_path.resolve()}/share rw - nfs4 nas:/x rw\n")
    assert network_file_system(tmp_path / "link" / "c.db", mounts) == "nfs4"
    assert network_file_system(tmp_path / "c.db", mounts) is None


def test_sqlite_on_a_network_file_system_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "network_file_system", lambda _path: "nfs4")
    with pytest.raises(CatalogUnavailable, match=r"lies on a network file system \(nfs4\).*use PostgreSQL: PYICEBERG_"):
        open_lakehouse("trickle", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    assert not (tmp_path / "c.db").exists()


@pytest.fixture
def sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lakehouse:
    monkeypatch.setattr(hosts, "_told", set())
    with open_lakehouse("trickle", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w") as lake:
        yield lake


def of_another_host(lake: Lakehouse, identifier: str, expires_at: float) -> None:
    values = {
        "owner": "o",
        "holder": "tick x",
        "host": "elsewhere",
        "pid": 1,
        "process_started": 1.0,
        "expires_at": expires_at,
    }
    with lake.database.transaction() as connection:
        connection.execute(insert(lease_table).values(catalog=lake.name, identifier=identifier, **values))


def test_another_host_at_work_on_a_sqlite_catalog_is_told_once(
    sqlite: Lakehouse, caplog: pytest.LogCaptureFixture
) -> None:
    of_another_host(sqlite, "default.other", 1e12)
    for name in ("default.a", "default.b"):
        with leases.holding(sqlite, [name], "tick y"):
            pass
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "is an SQLite file, and host elsewhere works with it at the same time as this host" in record.getMessage()
    assert "Use PostgreSQL for several hosts: PYICEBERG_CATALOG__TRICKLE__URI=postgresql" in record.getMessage()


def test_a_lease_of_another_host_that_ran_out_is_not_told(sqlite: Lakehouse, caplog: pytest.LogCaptureFixture) -> None:
    of_another_host(sqlite, "default.other", 1.0)
    with leases.holding(sqlite, ["default.a"], "tick y"):
        pass
    assert not [record for record in caplog.records if record.levelno == logging.WARNING]


def test_waiting_for_a_table_of_another_host_tells_of_postgresql(sqlite: Lakehouse) -> None:
    of_another_host(sqlite, "default.a", 1e12)
    with (
        pytest.raises(LeaseHeld, match=r"process 1 on elsewhere\), another host, though .* Use PostgreSQL") as raised,
        leases.holding(sqlite, ["default.a"], "tick y", wait=0),
    ):
        pytest.fail("it was taken")
    assert ".." not in str(raised.value)
    with sqlite.database.transaction() as connection:
        connection.execute(update(lease_table).values(expires_at=1.0))
    with leases.holding(sqlite, ["default.a"], "tick y", wait=0):
        pass
