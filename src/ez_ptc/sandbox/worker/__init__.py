"""The program inside the sandbox: standard library only, nothing of ours, started by path."""
