"""Spans and metrics by OpenTelemetry, and the trace context in requests."""
