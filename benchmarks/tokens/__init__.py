"""How many tokens a task takes, by single calls and by programs, here and in peers."""
