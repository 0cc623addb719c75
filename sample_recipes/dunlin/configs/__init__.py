"""Schema and stages of the dunlin recipe."""
