"""Where Spark runs, as an Airflow connection."""

from __future__ import annotations

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_trickle.errors import SettingsError, TrickleError
from airflow_trickle.spark.target import SparkTarget, target_from_connection

#: Our own type, the Spark provider's, and what Airflow makes of ``AIRFLOW_CONN_…=sc://host`` and ``k8s://host``.
_TYPES = ("trickle_spark", "spark_connect", "spark", "sc", "k8s")


class TrickleSparkHook(BaseHook):
    """Turns a connection into a `SparkTarget`.

    A connection of type ``trickle_spark`` with the host ``sc://…`` names a Spark Connect server; without
    a host, or if there is no connection of the default id, Spark is embedded. The ``spark_connect``
    connections of Airflow's Spark provider serve as well. Its ``spark`` connections name the master of a cluster
    (``spark://…``, ``yarn``, ``k8s://…``), to which work is submitted.
    """

    conn_name_attr = "spark_conn_id"
    default_conn_name = "trickle_spark"
    conn_type = "trickle_spark"
    hook_name = "Trickle Spark"

    def __init__(self, spark_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.spark_conn_id = spark_conn_id

    def get_conn(self) -> SparkTarget:
        """The target; nothing is started or reached yet.

        Raises:
            SettingsError: the connection is missing though it was asked for by name, or is of no use here.
        """
        try:
            found = self.get_connection(self.spark_conn_id)
        except AirflowNotFoundException:
            if self.spark_conn_id == self.default_conn_name:
                return SparkTarget()
            # A slip in a name must not bring a large job onto the worker's own machine.
            raise SettingsError(
                f"There is no Airflow connection '{self.spark_conn_id}'. Add it (type {self.conn_type}, host "
                f"sc://…), or remove spark_conn_id to use the embedded Spark."
            ) from None
        conn_type = found.conn_type or ""
        self._check(conn_type, found.host or "")
        return target_from_connection(
            conn_type=conn_type,
            host=found.host,
            port=found.port,
            login=found.login,
            password=found.password,
            extra=found.extra_dejson,
        )

    def _check(self, conn_type: str, host: str) -> None:
        name = f"Airflow connection '{self.spark_conn_id}'"
        use = (
            f"Use one of type {self.conn_type} or spark_connect to a Spark Connect server (sc://…), or one of type "
            f"spark to a cluster (spark://…, yarn, k8s://…)."
        )
        if conn_type not in _TYPES:
            which = "is for one program of Spark only" if conn_type in ("spark_sql", "spark_jdbc") else "is not Spark"
            raise SettingsError(f"{name} is of type {conn_type}, which {which}. {use}")
        if conn_type in ("spark_connect", "spark") and not host:
            raise SettingsError(f"{name} has no host. {use}")

    def test_connection(self) -> tuple[bool, str]:
        """For the button in the UI: start or reach Spark and ask for its version."""
        from airflow_trickle.spark.session import SparkProvider

        try:
            target = self.get_conn()
            if target.kind == "submit":
                return True, f"The connection is complete; nothing was submitted: {target}"
            with SparkProvider(target) as spark:
                return True, f"Spark {spark.session.version}: {target}"
        except TrickleError as error:
            return False, str(error)
