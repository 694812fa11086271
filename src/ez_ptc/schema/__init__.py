"""Python types as JSON Schema, without I/O."""
