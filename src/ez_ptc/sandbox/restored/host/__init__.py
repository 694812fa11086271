"""The host's side: which workers are restored, and for which programs."""
