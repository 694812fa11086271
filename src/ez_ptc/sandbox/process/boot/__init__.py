"""Before the first worker: which process can be a host, which interpreter is started, and what holds in it."""
