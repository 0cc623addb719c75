"""Schema and stages of the siskin recipe."""
