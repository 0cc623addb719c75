"""The mallow recipe."""
