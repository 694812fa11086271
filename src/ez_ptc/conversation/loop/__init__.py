"""The loop over a conversation's turns."""
