"""SQL text: what it reads and what it means (sqlglot stays inside)."""
