"""How well a small model writes programs over tools, by what it reads of them."""
