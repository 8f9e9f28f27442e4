"""Lattice columns: MIN or MAX in a cycle, over values that only improve."""
