"""In the zygote: workers are snapshots, and restored to them after each program."""
