"""A module that does not import."""

toolkit = 1 / 0
