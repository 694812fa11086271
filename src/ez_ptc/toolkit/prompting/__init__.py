"""What a model reads: prompts, worked examples, and the answer to its programs."""
