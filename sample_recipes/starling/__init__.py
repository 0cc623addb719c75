"""The starling recipe."""
