"""What streaming costs: a program whose events are read, as a multiple of its plain execution."""

import statistics
from typing import Final, cast

from benchmarks.journal.asking import ask
from benchmarks.journal.subjects import OURS

__all__ = ["stream_lines"]

_TRIES: Final = 7


def stream_lines(rounds: int) -> list[str]:
    """Return a table in Markdown, with a row for each program and each pair of methods."""
    answers = [cast("dict[str, list[list[float]]]", ask(OURS, "stream", _TRIES)) for _ in range(rounds)]
    lines = ["| | streamed, ms | plain, ms | streamed ÷ plain |", "|---|---:|---:|---:|"]
    for title in answers[0]:
        pairs = [pair for answer in answers for pair in answer[title]]
        streamed, plain = (statistics.median(pair[number] for pair in pairs) * 1e3 for number in range(2))
        lines.append(f"| {title} | {streamed:.1f} | {plain:.1f} | {streamed / plain:.2f} |")
    return lines
