"""Lowering schemas to what a provider accepts: other keywords are rewritten, or moved into the description."""
