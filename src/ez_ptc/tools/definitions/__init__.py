"""What a function is as a tool: names, parameters, options."""
