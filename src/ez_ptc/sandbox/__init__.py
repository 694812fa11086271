"""Where model-written code runs; knows names and frames, not tools. Each folder says who runs it."""
