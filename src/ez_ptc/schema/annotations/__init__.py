"""Reading annotations, signatures and docstrings."""
