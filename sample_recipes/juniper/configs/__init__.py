"""Schema and stages of the juniper recipe."""
