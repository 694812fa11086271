"""What is recorded about the calls of programs."""
