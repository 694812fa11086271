"""Programs on Ray actors beside local ones."""
