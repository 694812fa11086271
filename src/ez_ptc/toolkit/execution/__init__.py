"""Running programs with the tools of a toolkit."""
