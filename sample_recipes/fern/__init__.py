"""The fern recipe."""
