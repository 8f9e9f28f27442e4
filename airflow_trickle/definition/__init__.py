"""YAML files to frozen records, with a position for every error."""
