"""Where Spark runs."""
