"""JSON Schemas given by the caller instead of read from a function."""
