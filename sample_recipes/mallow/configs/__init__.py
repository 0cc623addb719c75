"""Schema and stages of the mallow recipe."""
