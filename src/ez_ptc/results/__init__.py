"""Results for a model: bounded texts, notes about what is left out, and sketches of large values."""
