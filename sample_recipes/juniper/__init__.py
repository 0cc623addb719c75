"""The juniper recipe."""
