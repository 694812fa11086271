"""What is recorded about programs and their calls."""
