"""What an operator does with a journal: list its runs, check it, copy it, and make room in it."""
