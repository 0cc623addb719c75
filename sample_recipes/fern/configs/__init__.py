"""Schema and stages of the fern recipe."""
