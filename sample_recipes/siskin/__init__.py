"""The siskin recipe."""
