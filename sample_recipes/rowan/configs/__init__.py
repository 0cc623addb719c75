"""Schema and stages of the rowan recipe."""
