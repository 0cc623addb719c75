"""The rowan recipe."""
