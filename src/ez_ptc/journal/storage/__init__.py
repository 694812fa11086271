"""The journal's file: its tables, the connections that read it, and its names."""
