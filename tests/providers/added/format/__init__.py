"""The chat API of a provider in a test, a dialect of Chat Completions."""
