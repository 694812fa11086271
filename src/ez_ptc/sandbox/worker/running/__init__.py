"""Running one program inside a worker."""
