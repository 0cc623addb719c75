"""The lapwing recipe."""
