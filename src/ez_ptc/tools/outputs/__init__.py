"""What a function returned or raised, on its way to the result of a call."""
