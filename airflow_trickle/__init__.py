"""Stream tables for Airflow: SQL-defined Iceberg tables kept up to date by Spark."""
