"""Reading what a model wrote as a program: notations around it, escapes, indentation, folded statements."""
