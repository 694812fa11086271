"""The check of programs, and what a model reads of its mistakes: text in, text out, without any process."""
