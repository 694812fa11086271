"""What describing a function and calling it with a model's arguments cost, beside other libraries that do so."""
