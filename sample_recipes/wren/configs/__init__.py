"""Schema and stages of the wren recipe."""
