"""Durable runs beside DBOS and LangGraph: kill points and costs; ``python -m benchmarks.journal``."""
