"""Schema and stages of the sorrel recipe."""
