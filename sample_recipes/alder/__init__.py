"""The alder recipe."""
