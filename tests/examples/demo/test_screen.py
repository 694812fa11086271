"""The demo's progress on a console that is no terminal."""

from io import StringIO

from rich.console import Console

from examples.demo.screen import Screen


def test_progress_without_a_terminal_is_a_line_a_quarter() -> None:
    written = StringIO()
    with Screen(Console(file=written, width=100)).bars() as bars:
        for done in range(0, 1_001, 10):
            bars("download", done=done * 1_000_000, total=1_000_000_000)
        bars("load", done=0, total=0)
    lines = [line for line in written.getvalue().splitlines() if line.strip()]
    assert lines == [
        "Downloading the model: 0 %, 0 of 1,000 MB",
        "Downloading the model: 25 %, 250 of 1,000 MB",
        "Downloading the model: 50 %, 500 of 1,000 MB",
        "Downloading the model: 75 %, 750 of 1,000 MB",
        "Downloading the model: 100 %, 1,000 of 1,000 MB",
        "Loading the model: 0 %, 0 of 0 MB",
    ]
