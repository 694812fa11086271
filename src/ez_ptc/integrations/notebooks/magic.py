"""IPython and Jupyter: the cell magic `%%ez_ptc` for programs."""

from __future__ import annotations

import time
from contextlib import closing
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.integrations.notebooks.options import CellOptions
from ez_ptc.sandbox.protocol.events import ApprovalNeeded, CallEnded, ProgramEnded
from ez_ptc.view.objects.calls import CallLog
from ez_ptc.view.objects.parts import TablePart
from ez_ptc.view.objects.plain import plain_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.sandbox.protocol.events import ProgramEvent
    from ez_ptc.sandbox.protocol.execution import ExecutionResult

__all__ = ["load_ipython_extension", "run_cell", "unload_ipython_extension"]

_MAGIC: Final = "ez_ptc"
# A kernel sends each update to the browser, which draws it.
_FREE_UPDATES: Final = 200
_SECONDS_BETWEEN_UPDATES: Final = 0.1


@explain_calls
def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic `%%ez_ptc` to a shell of IPython: called by `%load_ext ez_ptc`."""

    def ez_ptc(line: str, cell: str) -> ExecutionResult:
        """Run a cell as a program, show its calls as they happen, and return its result.

            %%ez_ptc toolkit --timeout 10 --out result

        The first word is the variable with the Toolkit; without it, the variable `toolkit`, or the only one there is.
        `--timeout` is in seconds, and `--out` names a variable for the result.
        """
        try:
            return run_cell(shell, line, cell)
        except ValueError as error:
            usage_error: Callable[[str], Exception] = import_module("IPython.core.error").UsageError
            raise usage_error(str(error)) from None

    shell.register_magic_function(ez_ptc, "cell", _MAGIC)


@explain_calls
def unload_ipython_extension(shell: Any) -> None:
    """Remove the cell magic: called by `%unload_ext ez_ptc`."""
    shell.magics_manager.magics["cell"].pop(_MAGIC, None)


def run_cell(shell: Any, line: str, cell: str) -> ExecutionResult:
    """Run a cell as a program, and return its result. Raises ValueError for options that are refused."""
    options = CellOptions.of(line, shell.user_ns)
    display = _CellDisplay(is_kernel=hasattr(shell, "kernel"))
    result: ExecutionResult | None = None
    with closing(options.toolkit.stream(cell, options.timeout)) as events:
        for event in events:
            display.show(event)
            if isinstance(event, ProgramEnded):
                result = event.result
    display.finish()
    if options.out is not None:
        shell.user_ns[options.out] = result
    return cast("ExecutionResult", result)  # the last event has it


class _CellDisplay:
    """Shows calls below a cell: a table in a kernel, and in a terminal a line for each ended call."""

    def __init__(self, *, is_kernel: bool) -> None:
        self._log: Final = CallLog()
        self._is_kernel: Final = is_kernel
        self._handle: Any = None
        self._updates = 0
        self._updated_at = 0.0

    def show(self, event: ProgramEvent) -> None:
        """Show what an event says of a call."""
        row = self._log.add(event)
        now = time.monotonic()
        if row is None:
            return
        if not self._is_kernel:
            if isinstance(event, CallEnded | ApprovalNeeded):
                print(plain_lines([TablePart((), [row])]), flush=True)  # noqa: T201 - as a cell prints
        elif self._handle is None:
            self._handle = import_module("IPython.display").display(self._log, display_id=True)
        elif self._updates < _FREE_UPDATES or now - self._updated_at > _SECONDS_BETWEEN_UPDATES:
            self._updates += 1
            self._updated_at = now
            self._handle.update(self._log)

    def finish(self) -> None:
        """Show the calls as they are now."""
        if self._handle is not None:
            self._handle.update(self._log)
