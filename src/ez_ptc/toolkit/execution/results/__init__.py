"""Kept results: whose they are, under which names, and how programs and calls read them."""
