"""The change of a query's result, as Spark SQL over the states of its inputs before and after, and their changes."""
