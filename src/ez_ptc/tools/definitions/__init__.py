"""Tool definitions: names, parameters and options."""
