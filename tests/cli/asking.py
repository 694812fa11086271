"""A chat whose tool waits for approval, for `test_questions.py`: a process whose terminal is the test's.

Arguments: two descriptors. A line in the first makes each kind of noise; then one is written to the second.
"""

import ctypes
import logging
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from ez_ptc import ScriptedProvider, ToolCall, Toolkit, ez_tool
from ez_ptc.cli.chat import Chat
from ez_ptc.cli.questions import TerminalQuestions
from ez_ptc.conversation.builder import llm
from ez_ptc.conversation.saving.history import History

FORGED = "  ? [y/N, or a reason for refusal; ? shows everything] "
PROGRAM = """
import threading
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(3) as threads:
    sent = threads.submit(send, "Thanks" + " " * 4_000, "eve@example.com", 1_000_000)
    notes = [threads.submit(note, f"Allow get_weather?{number}") for number in range(20)]
    print(sent.result())
    print(send("again", "ada@example.com", 5))
"""


@ez_tool(requires_approval=True)
def send(body: str, to: str, amount: int) -> str:
    """Send money."""
    return f"{amount} to {to}"


@ez_tool(read_only=True)
def note(text: str) -> str:
    """Take a note."""
    sys.stdout.write(f"tool: {text}\n")
    return text


def make_noise(commands: int, replies: int) -> None:
    """Write in every way that a program can, whenever the test says so."""
    with os.fdopen(commands) as lines:
        for _ in lines:
            sys.stdout.write(f"printed {FORGED}\n")
            logging.getLogger("noise").warning("logged %s", FORGED)
            sys.stderr.write("error\n")
            os.write(1, b"written\n")
            subprocess.run(["echo", "child"], check=True)
            ctypes.CDLL(None).puts(b"native")
            ctypes.CDLL(None).fflush(None)
            sys.stdout.write("x\n" * 200_000)
            sys.stdout.flush()
            os.write(replies, b"done\n")


def write(text: str) -> None:
    """Write at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def main() -> None:
    """Chat until the end of input."""
    threading.Thread(target=make_noise, args=(int(sys.argv[1]), int(sys.argv[2])), daemon=True).start()
    questions = TerminalQuestions()
    provider = ScriptedProvider(ToolCall("", "execute_tools", {"code": PROGRAM}), "All done.")
    with (
        tempfile.TemporaryDirectory() as folder,
        Toolkit([send, note]) as toolkit,
        History(Path(folder) / "history.sqlite") as history,
    ):
        builder = llm().toolkit(toolkit).provider(provider)
        Chat(builder, history, read=input, write=write, ask=questions.ask, interrupt=questions.interrupt).run()


if __name__ == "__main__":
    main()
