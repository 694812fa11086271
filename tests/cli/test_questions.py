"""Questions in a real pseudo-terminal: nothing is written below one that waits."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ez_ptc.cli.questions import InOrder

PROMPT = "  ? [y/N, or a reason for refusal; ? shows everything] "
ROOT = Path(__file__).resolve().parent.parent.parent
MAX_SECONDS = 60


class Terminal:
    """The person's side of a pseudo-terminal, and a process in it."""

    def __init__(self, lines: int, columns: int) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        commands, self._commands = os.pipe()
        self._replies, replies = os.pipe()
        environment = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES"}}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.asking", str(commands), str(replies)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            pass_fds=(commands, replies),
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        for descriptor in (slave, commands, replies):
            os.close(descriptor)
        self.seen = ""
        self.lines = lines

    def read_until(self, end: str) -> str:
        """Return what is shown until it ends so."""
        start = len(self.seen)
        while not self.seen[start:].endswith(end):
            assert select.select([self._master], [], [], MAX_SECONDS)[0], self.seen[-2_000:]
            self.seen += os.read(self._master, 65_536).decode().replace("\r\n", "\n")
        return self.seen[start:]

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._master, f"{text}\n".encode())

    def make_noise(self) -> str:
        """Let the process write in every way, and return what of it is shown."""
        os.write(self._commands, b"\n")
        assert select.select([self._replies], [], [], MAX_SECONDS)[0]
        assert os.read(self._replies, 100) == b"done\n"
        shown = ""
        while select.select([self._master], [], [], 0)[0]:
            shown += os.read(self._master, 65_536).decode()
        return shown

    def interrupt(self) -> None:
        """Do what Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait(MAX_SECONDS)
        for descriptor in (self._master, self._commands, self._replies):
            os.close(descriptor)


@pytest.fixture(params=[(24, 80), (15, 60), (50, 200)], ids=str)
def terminal(request: pytest.FixtureRequest) -> Iterator[Terminal]:
    opened = Terminal(*request.param)
    try:
        yield opened
    finally:
        opened.close()


@pytest.mark.sampled(every=3)
def test_nothing_is_written_below_a_waiting_question(terminal: Terminal) -> None:
    terminal.read_until("you> ")
    terminal.type("Pay Eve")
    shown = terminal.read_until(PROMPT)
    question = shown[shown.rindex("Allow send") :]
    assert re.match(
        r'Allow send \(\S+\)\?\n\n    body = "Thanks" \[4,000 blanks\]\n    to = "eve@example\.com"\n', question
    )
    assert "    amount = 1000000\n" in question
    assert question.count("\n") + 2 <= terminal.lines
    assert terminal.make_noise() == ""
    terminal.type("?")
    shown = terminal.read_until(PROMPT)
    assert "[4,000 blanks]" in shown
    terminal.type("y")
    shown = terminal.read_until(PROMPT)
    for noise in ("printed", "logged", "error", "written", "child", "native"):
        assert f"\n{noise}" in terminal.seen
    assert re.search(r"\[\d{3},\d{3} more bytes were written meanwhile\]", terminal.seen)
    assert 'to = "ada@example.com"\n    amount = 5\n' in shown[shown.rindex("Allow send") :]
    terminal.type("n")
    assert 'send("again"' in terminal.read_until("you> ")


@pytest.mark.sampled(every=3)
def test_stopped_answer_leaves_its_question(terminal: Terminal) -> None:
    terminal.read_until("you> ")
    terminal.type("Pay Eve")
    terminal.read_until(PROMPT)
    terminal.interrupt()
    assert "! stopped" in terminal.read_until("you> ")
    terminal.type("/usage")  # is no answer to the question
    assert "in all:" in terminal.read_until("you> ")


def test_turns_are_in_order_of_arrival() -> None:
    order, taken = InOrder(), list[int]()
    threads: list[threading.Thread] = []

    def take(number: int) -> None:
        with order.turn():
            taken.append(number)

    with order.turn():
        for number in range(20):
            threads.append(threading.Thread(target=take, args=(number,)))
            threads[-1].start()
            waiting = order._waiting  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - nothing else tells of arrival
            while len(waiting) <= number:
                assert threads[-1].is_alive()
    for thread in threads:
        thread.join(MAX_SECONDS)
    assert taken == list(range(20))
    with order.turn():
        pass
