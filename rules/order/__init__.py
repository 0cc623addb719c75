"""Family RL1: one rule for each edge of the protocol, grouped by the step that stands in the wrong place."""
