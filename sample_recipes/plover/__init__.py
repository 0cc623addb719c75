"""The plover recipe."""
