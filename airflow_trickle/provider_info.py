"""What Airflow asks about this package; imports nothing, since every Airflow process loads it."""

from __future__ import annotations

from typing import Any

_INTEGRATION = "Trickle"


def _option(kind: str, default: str, description: str, example: str | None = None) -> dict[str, Any]:
    return {
        "description": description,
        "version_added": "0.1.0",
        "type": kind,
        "example": example,
        "default": default,
    }


#: The section ``[trickle]`` of airflow.cfg; every option is also ``AIRFLOW__TRICKLE__<NAME>``.
_OPTIONS: dict[str, dict[str, Any]] = {
    "allow_circular": _option(
        "string",
        "False",
        "Whether stream tables may read each other in a cycle: False, True, or unsafe (a non-monotone\n"
        "cycle then gets a warning instead of being refused).\n",
        example="True",
    ),
    "max_fixpoint_iterations": _option(
        "integer",
        "100",
        "How many passes a cycle of stream tables may take to settle before the refresh is given up.\n",
    ),
    "passes_per_submission": _option(
        "string",
        "all",
        "How many passes over a cycle one submission to Spark makes before the task looks, logs and submits the rest:\n"
        "a whole number of at least 1, or all.\n",
        example="10",
    ),
    "diamond_consistency": _option(
        "string",
        "atomic",
        "Whether tables on several paths from one ancestor are published together (atomic) or each by\n"
        "itself (none).\n",
        example="none",
    ),
    "enable_stratum_skip": _option("boolean", "True", "Skip a whole stratum when nothing it reads has changed.\n"),
    "stratified_cycle_validation": _option(
        "boolean",
        "True",
        "Judge a cycle by the position of each reference in its query; False judges whole queries.\n",
    ),
    "stratified_dred": _option(
        "boolean",
        "True",
        "Maintain recursive queries by delete-and-rederive; False recomputes them.\n",
    ),
    "catalog": _option(
        "string",
        "trickle",
        "Name of the Iceberg catalog, configured as pyiceberg does it: .pyiceberg.yaml or\n"
        "PYICEBERG_CATALOG__<NAME>__URI and __WAREHOUSE. Without any: an embedded SQLite catalog.\n",
    ),
    "spark_conn_id": _option(
        "string",
        "trickle_spark",
        "Airflow connection that says where Spark runs. As long as there is none called trickle_spark,\n"
        "that name stands for an embedded local Spark, which is started and kept warm.\n",
        example="my_spark_connect",
    ),
    "timezone": _option(
        "string",
        "UTC",
        "The time zone on whose clock cron expressions fire and start dates stand.\n",
        example="Europe/Berlin",
    ),
    "strict": _option(
        "boolean",
        "False",
        "Let the DAG file fail as a whole when a pipeline definition is wrong, instead of showing the\n"
        "broken file as a failing DAG beside the good ones. For CI.\n",
    ),
    "preload": _option(
        "boolean",
        "True",
        "Have a scheduler with LocalExecutor load once what every task would load anew, some seconds each.\n",
    ),
    "worker_memory": _option(
        "string",
        "1g",
        "About how much memory the rows of a refresh may take in the worker process, beside the process itself:\n"
        "a size such as 512m or 2g. Larger changes, and cycles with more rows, are left to Spark.\n",
        example="512m",
    ),
    "allow_code_in_queries": _option(
        "boolean",
        "False",
        "Let queries run methods of Java (reflect, java_method, try_reflect) and scripts (TRANSFORM … USING) on the\n"
        "machine of Spark. Whoever writes a query can then do there whatever Spark may.\n",
    ),
}

_CONNECTION_TYPE: dict[str, Any] = {
    "connection-type": "trickle_spark",
    "hook-class-name": "airflow_trickle.hooks.spark.TrickleSparkHook",
    "hook-name": "Trickle Spark",
    "ui-field-behaviour": {
        "hidden-fields": ["schema"],
        "relabeling": {"host": "Spark Connect URL", "login": "User ID", "password": "Token"},
        "placeholders": {
            "host": "sc://spark.example.com, or empty for the embedded Spark",
            "port": "15002",
        },
    },
    "conn-fields": {
        "use_ssl": {
            "label": "Use TLS",
            "description": "Encrypt the connection; a token implies it.",
            "schema": {"type": ["boolean", "null"], "default": False},
        },
    },
}


def get_provider_info() -> dict[str, Any]:
    """The provider as Airflow's ``provider_info.schema.json`` wants it described."""
    return {
        "package-name": "airflow-trickle",
        "name": _INTEGRATION,
        "description": "Stream tables: SQL-defined Iceberg tables kept up to date by Spark.",
        "versions": ["0.1.0"],
        "integrations": [
            {
                "integration-name": _INTEGRATION,
                "external-doc-url": "https://iceberg.apache.org/",
                "tags": ["software"],
            }
        ],
        "operators": [
            {
                "integration-name": _INTEGRATION,
                "python-modules": [
                    "airflow_trickle.operators.capture",
                    "airflow_trickle.operators.pin",
                    "airflow_trickle.operators.refresh",
                    "airflow_trickle.operators.fixpoint",
                    "airflow_trickle.operators.group",
                    "airflow_trickle.operators.broken",
                    "airflow_trickle.operators.maintain",
                ],
            }
        ],
        "sensors": [{"integration-name": _INTEGRATION, "python-modules": ["airflow_trickle.sensors.stratum"]}],
        "hooks": [{"integration-name": _INTEGRATION, "python-modules": ["airflow_trickle.hooks.spark"]}],
        "connection-types": [_CONNECTION_TYPE],
        "notifications": ["airflow_trickle.notifications.non_convergence.NonConvergenceNotifier"],
        "extra-links": [
            "airflow_trickle.operators.links.PassesLink",
            "airflow_trickle.operators.links.HistoryLink",
        ],
        "config": {
            "trickle": {
                "description": "Stream tables; a pipeline may override each of these but `strict`, `preload` and "
                "`allow_code_in_queries`.\n",
                "options": _OPTIONS,
            }
        },
    }
