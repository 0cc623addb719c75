"""The thistle recipe."""
