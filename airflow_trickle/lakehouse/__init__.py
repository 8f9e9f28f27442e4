"""Iceberg tables and the state beside them (pyiceberg and sqlalchemy stay inside)."""
