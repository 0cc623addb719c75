"""The dunlin recipe."""
