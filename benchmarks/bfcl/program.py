"""A turn's calls as the program that a model would write for them; pure."""

from collections.abc import Collection, Sequence

from benchmarks.bfcl.entries import Call

__all__ = ["REFUSED", "program"]

REFUSED = "cannot cross: "
"""What a program puts in place of a result that did not cross, before the reason."""


def program(calls: Sequence[Call], guarded: Collection[int] = ()) -> str:
    """Return the program of one turn: each call on its own line, their results as the last expression.

    Args:
        calls: The turn's calls.
        guarded: The calls whose results need not cross; the program catches that refusal and goes on.
    """
    lines: list[str] = []
    for index, call in enumerate(calls):
        line = f"r{index} = {call.text}"
        if index in guarded:
            line = f"try:\n    {line}\nexcept TypeError as error:\n    r{index} = {REFUSED!r} + str(error)"
        lines.append(line)
    names = ", ".join(f"r{index}" for index in range(len(calls)))
    return "\n".join([*lines, f"[{names}]"])
