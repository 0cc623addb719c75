"""The command line: ``parser`` reads it, and each command is a module with one function ``run``."""
