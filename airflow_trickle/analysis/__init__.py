"""The graph of stream tables (networkx stays inside)."""
