"""The wren recipe."""
