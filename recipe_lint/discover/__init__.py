"""From the paths a user names to the files that are read."""
