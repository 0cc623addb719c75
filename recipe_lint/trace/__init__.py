"""Abstract interpretation of set-up code: from an engine to the protocol events on its models."""
