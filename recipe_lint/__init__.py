"""Static analysis for model-training recipes."""

__version__ = "0.1.0"
