"""Schema and stages of the plover recipe."""
