"""The catalogue of a toolkit's tools for a model, whole or a part, and the search for the others."""
