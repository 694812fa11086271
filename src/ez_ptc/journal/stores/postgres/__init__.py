"""Runs in PostgreSQL, for many hosts: nothing here is imported before a journal has such an address."""
