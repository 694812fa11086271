"""Durable runs: what programs asked for and what came back, in an SQLite file."""
