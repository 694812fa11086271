"""Feedback for the model about mistakes in its program."""
