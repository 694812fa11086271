"""The default backend: the host's side of the CPython worker."""
