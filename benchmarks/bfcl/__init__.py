"""The Berkeley Function-Calling Leaderboard's multi-turn entries, each turn run as one program in the sandbox."""

__all__: list[str] = []
