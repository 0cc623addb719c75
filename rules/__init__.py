"""The rule pack: the protocol data and one small module a rule family."""
