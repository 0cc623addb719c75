"""The protocol as typed data, read from the rule pack and overridden by configuration."""
