"""The JSON of each provider, one folder or module each, with the same functions in each; without I/O."""
