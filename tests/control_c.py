"""Ctrl-C, as tests press it."""

import signal
import threading
from typing import Final

_SECONDS: Final = 10
_TIMES: Final = 6


def press_control_c(until: threading.Event) -> None:
    """Do what Ctrl-C does, which wakes up the main thread, and wait for `until` (for at most a minute).

    Python loses the rare signal that arrives just before its main thread begins to wait: it is noticed when the wait
    ends. People press the keys once more, and so does this.
    """
    main = threading.main_thread().ident
    assert main is not None
    for _ in range(_TIMES):
        signal.pthread_kill(main, signal.SIGINT)
        if until.wait(_SECONDS):
            break


def start_pressing_control_c(until: threading.Event) -> None:
    """Do the same in another thread, without waiting."""
    threading.Thread(target=press_control_c, args=(until,), daemon=True).start()
