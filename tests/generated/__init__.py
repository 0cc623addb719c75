"""Generated recipes and properties: the linter against the protocol itself, any code and any bytes."""
