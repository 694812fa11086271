"""The command line, an extra: cyclopts and rich are not installed without it."""
