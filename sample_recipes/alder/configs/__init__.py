"""Schema and stages of the alder recipe."""
