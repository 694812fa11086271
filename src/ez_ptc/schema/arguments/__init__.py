"""Binding a call's arguments: budgets, repairs, conversion and error messages."""
