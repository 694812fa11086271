"""The progress of calls in the record of a run: written while they run, and read for its page."""
