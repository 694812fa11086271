"""The node's side: an actor's class, and its running programs."""
