"""Encoding values that cross between program and host: standard library only, on both ends."""
