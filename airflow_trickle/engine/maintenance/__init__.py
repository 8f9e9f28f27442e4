"""Maintenance of stream tables: compaction, and all of it in order."""
