"""`ez-ptc shapes`: the shapes of results in a file."""
