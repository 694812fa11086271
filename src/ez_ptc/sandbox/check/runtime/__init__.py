"""Hints for the error of a running program."""
