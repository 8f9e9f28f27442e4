"""The state tables beside the catalog, and their schema version.

What a table holds and how far it has read is in its Iceberg snapshots; these tables are for speed
and for what has no snapshot: failures, ticks, leases, unfinished work.
"""

from __future__ import annotations

from pyiceberg.catalog.sql import SqlCatalogBaseTable
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    select,
    text,
    update,
)

from airflow_trickle.errors import CatalogUnavailable
from airflow_trickle.lakehouse.database import Database, one_at_a_time

SCHEMA_VERSION = 8

metadata = MetaData()

meta = Table(
    "trickle_meta",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

#: One row per stream table: what was published last and from what.
status = Table(
    "trickle_status",
    metadata,
    Column("catalog", String(255), primary_key=True),
    Column("identifier", String(255), primary_key=True),
    Column("name", String(255), nullable=False),
    Column("pipeline", String(255), nullable=False),
    Column("status", String(16), nullable=False),
    Column("mode", String(16)),
    Column("definition", String(64)),
    Column("frontier", Text),
    Column("effective_at", String(40)),
    Column("tick_id", String(512)),
    Column("metadata_location", Text),
    Column("snapshot_id", BigInteger),
    Column("schema_id", Integer),
    Column("epoch", BigInteger, nullable=False),
    Column("refreshed_at", String(40)),
    Column("changed_at", String(40)),
    Column("error", Text),
    Column("error_at", String(40)),
    # What is kept beside the table to refresh it quickly, as JSON.
    Column("kept", Text),
    # How many passes the last refresh took that brought it to a fixed point, and when that was.
    Column("last_iterations", Integer),
    Column("converged_at", String(40)),
    # Fingerprint of the unit that did not settle: as long as it is the same, it is not tried again.
    Column("halted", String(64)),
    # Identifiers of tables that are held and without which this one cannot be refreshed, as JSON.
    Column("waits_for", Text),
    # The atomic group it was last published with, and how many commits that group had then.
    Column("group_name", String(255)),
    Column("group_epoch", BigInteger),
    # The settings and the version of Spark that its rows were computed under, as JSON.
    Column("settings", Text),
)

#: One row per refresh that did something or failed.
history = Table(
    "trickle_history",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("catalog", String(255), nullable=False),
    Column("identifier", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("pipeline", String(255), nullable=False),
    Column("tick_id", String(512), nullable=False),
    Column("action", String(16), nullable=False),
    Column("mode", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("rows_in", BigInteger),
    Column("rows_inserted", BigInteger, nullable=False),
    Column("rows_deleted", BigInteger, nullable=False),
    Column("iterations", Integer, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("snapshot_id", BigInteger),
    Column("started_at", String(40), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("bytes_read", BigInteger),
    Column("bytes_written", BigInteger),
    # Seconds by phase, as JSON.
    Column("phases", Text),
    Column("error", Text),
    Column("group_epoch", BigInteger),
    # Why there was something to do, as `results.Cause` has it.
    Column("cause", String(32)),
    # What AUTO chose, by which estimates, as JSON.
    Column("choice", Text),
    # The auxiliary state after the refresh, part by part, as JSON.
    Column("state", Text),
    Index("trickle_history_of_table", "catalog", "identifier", "id"),
    Index("trickle_history_of_tick", "catalog", "tick_id"),
)

#: One row per pass over a unit that is brought to a fixed point; those of a tick's last attempt.
iterations = Table(
    "trickle_iterations",
    metadata,
    Column("catalog", String(255), primary_key=True),
    Column("tick_id", String(512), primary_key=True),
    Column("unit", String(255), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("pipeline", String(255), nullable=False),
    Column("phase", String(16), nullable=False),
    # Rows that came or went, by the name of the table, as JSON.
    Column("changes", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    # When the refresh ended: the same for all of its passes.
    Column("at", String(40), nullable=False),
    Index("trickle_iterations_of_unit", "catalog", "pipeline", "unit", "at"),
)

#: One row per tick: the world it sees.
ticks = Table(
    "trickle_ticks",
    metadata,
    Column("catalog", String(255), primary_key=True),
    Column("tick_id", String(512), primary_key=True),
    Column("pipeline", String(255), nullable=False),
    Column("pins", Text, nullable=False),
    Column("locations", Text, nullable=False),
    Column("as_of", String(40)),
    Column("effective_at", String(40), nullable=False),
    Column("created_at", String(40), nullable=False),
    # Identifiers of tables whose own schedule lets them rest in this tick, as JSON.
    Column("not_due", Text),
    # The strata that it passed over since none of their tables had anything to do, as JSON.
    Column("skipped_strata", Text),
    Index("trickle_ticks_of_pipeline", "catalog", "pipeline", "effective_at"),
)

#: Who refreshes a table at the moment.
leases = Table(
    "trickle_leases",
    metadata,
    Column("catalog", String(255), primary_key=True),
    Column("identifier", String(255), primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("holder", Text, nullable=False),
    Column("host", String(255), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", Float, nullable=False),
    # By the clock of the database.
    Column("expires_at", Float, nullable=False),
    # The tick that keeps the table for itself between its tasks, and until when without a sign of life.
    Column("claim", String(512)),
    Column("claimed_until", Float),
    # What tells the process from all others: of which start of which machine, in which container, since when.
    Column("boot_id", String(64)),
    Column("pid_namespace", String(64)),
    Column("start_ticks", BigInteger),
)

#: Files that were written, or are about to be, and that no snapshot shows yet.
staging = Table(
    "trickle_staging",
    metadata,
    Column("catalog", String(255), primary_key=True),
    Column("staging_id", String(64), primary_key=True),
    Column("identifier", String(255), nullable=False),
    Column("pipeline", String(255), nullable=False),
    Column("tick_id", String(512), nullable=False),
    Column("owner", String(64), nullable=False),
    Column("table_location", Text, nullable=False),
    Column("spark", Text),
    Column("new_table", Boolean, nullable=False),
    Column("discarding", Boolean, nullable=False),
    Column("created_at", String(40), nullable=False),
)

#: One row per table of an atomic group whose next state is staged and waits for the commit of the group.
prepared = Table(
    "trickle_prepared",
    metadata,
    Column("catalog", String(255), primary_key=True),
    Column("tick_id", String(512), primary_key=True),
    Column("identifier", String(255), primary_key=True),
    Column("unit", String(255), nullable=False),
    # Everything that the commit writes, as JSON.
    Column("payload", Text, nullable=False),
    Column("created_at", String(40), nullable=False),
)

#: One row per stratum of a pipeline that was ever passed over.
skipped_strata = Table(
    "trickle_skipped_strata",
    metadata,
    Column("catalog", String(255), primary_key=True),
    Column("pipeline", String(255), primary_key=True),
    Column("stratum", Integer, primary_key=True),
    Column("times", BigInteger, nullable=False),
    Column("tick_id", String(512), nullable=False),
    Column("at", String(40), nullable=False),
)

#: Where the stream tables stood in the graph when their pipeline ticked last.
places = Table(
    "trickle_places",
    metadata,
    Column("catalog", String(255), primary_key=True),
    Column("identifier", String(255), primary_key=True),
    Column("pipeline", String(255), nullable=False),
    Column("stratum", Integer, nullable=False),
    # Tables of one cycle share a number.
    Column("scc_id", Integer),
)

#: One row per query with mutual recursion that became several stream tables.
mutual_groups = Table(
    "trickle_mutual_groups",
    metadata,
    Column("catalog", String(255), primary_key=True),
    # The table whose query it is.
    Column("identifier", String(255), primary_key=True),
    Column("pipeline", String(255), nullable=False),
    # Pairs of CTE and table, and the CTEs that read each other, as JSON.
    Column("members", Text, nullable=False),
    Column("groups", Text, nullable=False),
    # The query as it was written.
    Column("query", Text, nullable=False),
    Column("created_at", String(40), nullable=False),
)

#: What became of work that was submitted to a cluster: such a job returns nothing by itself.
submissions = Table(
    "trickle_submissions",
    metadata,
    Column("catalog", String(255), primary_key=True),
    Column("submission_id", String(64), primary_key=True),
    Column("tick_id", String(512), nullable=False),
    Column("unit", String(255), nullable=False),
    # What to do, and what became of it, as JSON; the second is empty until it is done.
    Column("request", Text, nullable=False),
    Column("outcome", Text),
    Column("created_at", String(40), nullable=False),
)


def install(database: Database) -> None:
    """Create the catalog's and the state tables where they are missing; refuse a layout this version does not know."""
    found = _installed_version(database)
    if found is None:
        with database.transaction() as connection:
            # Two processes that create tables at once would trip over each other in PostgreSQL.
            one_at_a_time(connection, "install")
            SqlCatalogBaseTable.metadata.create_all(connection, checkfirst=True)
            metadata.create_all(connection, checkfirst=True)
            if connection.execute(select(meta.c.value).where(meta.c.key == "schema_version")).first() is None:
                connection.execute(insert(meta).values(key="schema_version", value=str(SCHEMA_VERSION)))
        found = _installed_version(database)
    if found in _OLDER:
        found = _upgraded(database)
    if found != SCHEMA_VERSION:
        raise CatalogUnavailable(
            f"{database.where} holds trickle state of layout {found}; this version of airflow-trickle knows "
            f"layout {SCHEMA_VERSION}. Install a version of airflow-trickle that matches."
        )


#: What a layout has more than the one before it; older rows leave it empty. Its new tables are found by themselves.
_NEW_COLUMNS: dict[int, tuple[tuple[Table, tuple[str, ...]], ...]] = {
    2: ((history, ("bytes_read", "bytes_written", "phases")), (status, ("kept",))),
    3: ((status, ("last_iterations", "converged_at", "halted", "waits_for")),),
    4: (
        (status, ("group_name", "group_epoch")),
        (history, ("group_epoch",)),
        (ticks, ("not_due",)),
        (leases, ("claim", "claimed_until")),
    ),
    5: ((status, ("settings",)),),
    6: ((leases, ("boot_id", "pid_namespace", "start_ticks")),),
    7: ((ticks, ("skipped_strata",)),),
    8: ((history, ("cause", "choice", "state")),),
}
#: What the new columns of a layout get in older rows, where these tell.
_FILLED: dict[int, tuple[str, ...]] = {
    8: (
        "UPDATE trickle_history SET cause = 'first_refresh' WHERE reason LIKE 'first refresh%'",
        "UPDATE trickle_history SET cause = 'query_changed' WHERE reason LIKE 'its query changed%'",
    ),
}
_OLDER = range(1, SCHEMA_VERSION)


def _upgraded(database: Database) -> int | None:
    """Bring an older layout to this one, in place and all at once."""
    with database.transaction() as connection:
        one_at_a_time(connection, "install")
        version = connection.execute(select(meta.c.value).where(meta.c.key == "schema_version")).scalar()
        if version is not None and int(version) in _OLDER:  # nobody was quicker
            for layout in range(int(version) + 1, SCHEMA_VERSION + 1):
                for table, columns in _NEW_COLUMNS[layout]:
                    for name in columns:
                        kind = table.c[name].type.compile(connection.dialect)
                        connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}"))
                for statement in _FILLED.get(layout, ()):
                    connection.execute(text(statement))
            metadata.create_all(connection, checkfirst=True)
            connection.execute(update(meta).where(meta.c.key == "schema_version").values(value=str(SCHEMA_VERSION)))
    return _installed_version(database)


def _installed_version(database: Database) -> int | None:
    with database.reading() as connection:
        if not database.engine.dialect.has_table(connection, meta.name):
            return None
        value = connection.execute(select(meta.c.value).where(meta.c.key == "schema_version")).scalar()
        return int(value) if value is not None else None
