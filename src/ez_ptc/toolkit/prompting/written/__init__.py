"""Reading what a model has written into its answer: calls, and programs with changes."""
