"""Schema and stages of the thistle recipe."""
