"""CPython's own tests, run as programs in the sandbox and in a plain process, and compared."""
