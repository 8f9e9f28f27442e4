"""Refreshing tables on Spark."""
