"""`ez-ptc demo`."""
