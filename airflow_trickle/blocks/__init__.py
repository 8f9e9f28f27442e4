"""A query as blocks of its own text: which words are its columns, its conditions, its relations."""
