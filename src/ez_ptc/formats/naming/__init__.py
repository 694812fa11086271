"""Tool names and parameter keys, as providers accept them, and back."""
