"""The default backend: programs in confined processes of the kernel, seen from the host."""
