"""The shapes of results seen so far, of tools that declare none."""
