"""`ez-ptc serve` and what clients need to know of it."""
