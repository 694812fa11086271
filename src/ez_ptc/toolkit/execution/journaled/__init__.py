"""Single executions of recorded programs."""
