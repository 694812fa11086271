"""Benchmarks of code modes in Pydantic AI's agent loop."""
