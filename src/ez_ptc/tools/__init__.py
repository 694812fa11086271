"""Functions a model may call."""
