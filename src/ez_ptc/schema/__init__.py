"""Python types as JSON Schema; pure."""
