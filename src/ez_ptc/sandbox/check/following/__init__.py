"""Following a program without running it, to know the types of its values."""
