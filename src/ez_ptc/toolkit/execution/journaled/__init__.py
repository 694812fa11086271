"""Recorded runs of programs: begun, resumed, and run again from their records."""
