"""Which file system a path lies on: SQLite's locks do not hold on one that several machines share."""

from __future__ import annotations

import re
from pathlib import Path

#: As ``/proc/self/mountinfo`` calls them. Those of a cluster may lock correctly, but SQLite's write-ahead log needs
#: memory that all its processes share, and machines do not.
NETWORK = frozenset(
    [
        "9p",
        "acfs",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.ceph",
        "fuse.ceph-fuse",
        "fuse.davfs2",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.goofys",
        "fuse.juicefs",
        "fuse.mount-s3",
        "fuse.moosefs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "pvfs2",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "wekafs",
    ]
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


def file_system(path: str, mountinfo: str) -> str | None:
    """The type of the file system that an absolute path without links lies on; None if the text does not tell.

    Args:
        path: The path.
        mountinfo: The text of ``/proc/self/mountinfo``.

    >>> file_system("/data/c.db", "36 1 0:1 / / rw - ext4 /dev/sda rw\\n37 36 0:2 / /data rw shared:1 - nfs4 nas:/x rw")
    'nfs4'
    """
    best, found = -1, None
    for line in mountinfo.splitlines():
        # id, parent, device, root, mount point, options, optional fields, a hyphen, type, source, options
        before, mark, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if not mark or len(fields) < 5 or not kind:
            continue
        point = _ESCAPED.sub(lambda code: chr(int(code[1], 8)), fields[4]).rstrip("/")
        # Of two at one place, the later one hides the earlier.
        if (path == point or path.startswith(f"{point}/")) and len(point) >= best:
            best, found = len(point), kind[0]
    return found


def network_file_system(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> str | None:
    """The type of the network file system that a path lies on, or will; None if it is a local one or cannot be told."""
    try:
        text = mountinfo.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    kind = file_system(str(path.resolve()), text)
    return kind if kind in NETWORK else None
