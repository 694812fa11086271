"""Booting a zygote: checking the host process, finding an interpreter, judging the isolation."""
