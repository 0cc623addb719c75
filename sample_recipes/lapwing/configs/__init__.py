"""Schema and stages of the lapwing recipe."""
