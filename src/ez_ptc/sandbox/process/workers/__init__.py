"""The workers of a pool, one by one: those that are ready, and those that are somebody's."""
