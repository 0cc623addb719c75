"""Schema and stages of the starling recipe."""
