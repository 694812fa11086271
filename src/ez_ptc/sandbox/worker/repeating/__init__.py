"""The turns of a concurrent program: one thread at a time, and replies in their recorded order."""
