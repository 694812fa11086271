"""Objects in notebooks and terminals: bounded, escaped, and in the form that each of them shows best."""
