"""JSON Schemas given by the caller rather than read from a function."""
