"""Runs, results and tools as HTML: the one renderer of pages and notebooks.

Everything from a program, a tool or a model is escaped text within a bound. Pure but for reading our own style and
script; what is shown arrives as plain data.
"""
