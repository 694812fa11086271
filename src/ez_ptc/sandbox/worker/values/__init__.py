"""Encoding values that cross between program and host; the host imports this package too."""
