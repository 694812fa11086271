"""`ez-ptc view`: the runs of a journal as pages, served to the people who decide about their calls."""
