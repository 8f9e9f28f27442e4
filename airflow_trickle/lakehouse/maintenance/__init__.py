"""Keeping tables small: expiry of snapshots, orphan files, pruning of state tables."""
