"""Thin entry scripts for spark-submit."""
