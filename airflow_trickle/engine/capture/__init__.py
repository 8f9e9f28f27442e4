"""Capturing sources that are no Iceberg tables into mirrors that are.

A mirror is an Iceberg table of ours that holds, as a bag, the rows of the source. It is brought up to date before a
tick is pinned; everything after that reads snapshots of the mirror and knows nothing of captures.
"""
