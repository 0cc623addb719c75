"""Schema and stages of the heron recipe."""
