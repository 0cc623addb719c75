"""Settings: where they stand, what they may say, and which rules they turn on."""
