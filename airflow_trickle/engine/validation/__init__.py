"""Checking the queries of stream tables against the columns of the catalog, before anything is refreshed."""
