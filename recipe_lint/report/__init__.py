"""Output formats: what a finished run looks like as text or data, and how it reaches a stream."""
