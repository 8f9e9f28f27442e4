"""From definitions to frozen steps; pure."""
