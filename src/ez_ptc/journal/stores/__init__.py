"""Where a journal keeps its rows: one protocol, and a folder or file for each database."""
