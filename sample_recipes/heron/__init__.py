"""The heron recipe."""
