"""`ez-ptc runs`: the runs of a journal."""
