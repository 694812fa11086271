"""What stands in the events of runs: the fields of their data, and their payloads."""
