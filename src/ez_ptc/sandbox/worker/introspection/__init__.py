"""What programs read of their tools with `help` and `inspect`."""
