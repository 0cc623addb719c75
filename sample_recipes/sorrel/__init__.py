"""The sorrel recipe."""
