"""What a model reads about the mistakes in its program."""
