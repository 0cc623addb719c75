"""Files into values: Python modules, imports, segments, YAML stages and config schemas. Judges nothing."""
