"""Permission for calls, before they have any effect."""
