"""From traces to findings: rules, suppressions, root causes."""
