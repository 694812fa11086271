"""Where the functions of tools run: in the caller's thread, in a worker thread, or in one that their tools name."""
