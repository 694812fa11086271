"""IPython and Jupyter: the cell magic `%%ez_ptc` for programs."""

from __future__ import annotations

import shlex
import time
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._wrong_calls import explain_calls, unknown_name
from ez_ptc.sandbox.protocol.events import ApprovalNeeded, CallEnded, ProgramEnded
from ez_ptc.schema.safe_repr import safe_name, safe_names, safe_repr
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.view.objects.calls import CallLog
from ez_ptc.view.objects.parts import TablePart
from ez_ptc.view.objects.plain import plain_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ez_ptc.sandbox.protocol.events import ProgramEvent
    from ez_ptc.sandbox.protocol.execution import ExecutionResult

__all__ = ["CellOptions", "load_ipython_extension", "run_cell", "unload_ipython_extension"]

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


_USAGE: Final = "Usage: %%ez_ptc [TOOLKIT] [--timeout SECONDS] [--out NAME]"
_OPTIONS: Final = {"--timeout": "timeout", "-t": "timeout", "--out": "out", "-o": "out"}


@dataclass(frozen=True, slots=True)
class CellOptions:
    """What the line of a cell says: the toolkit, the timeout, and the variable for the result."""

    toolkit: Toolkit
    timeout: float | None = None
    out: str | None = None

    @classmethod
    def of(cls, line: str, namespace: Mapping[str, object]) -> CellOptions:
        """Return the options in a line; `namespace` has the notebook's variables. Raises ValueError for others."""
        names, values = _read_words(line)
        if len(names) > 1:
            message = f"expected one toolkit, got {', '.join(map(safe_repr, names))}. {_USAGE}"
            raise ValueError(message)
        out = values.get("out")
        if out is not None and (not out.isidentifier() or iskeyword(out) or out.startswith("__")):
            message = f"--out: expected the name of a variable, got {safe_repr(out)}"
            raise ValueError(message)
        toolkit = _find_toolkit("".join(names), namespace)
        if "timeout" not in values:
            return cls(toolkit, None, out)
        try:
            seconds = float(values["timeout"])
            toolkit.limits.with_timeout(seconds)
        except ValueError:
            words = "expected a positive number of seconds, at most a year"
            message = f"--timeout: {words}, got {safe_repr(values['timeout'])}"
            raise ValueError(message) from None
        return cls(toolkit, seconds, out)


def _read_words(line: str) -> tuple[list[str], dict[str, str]]:
    """Return the names and the options of a line. Raises ValueError for an unknown option, or one without a value."""
    try:
        words = iter(shlex.split(line))
    except ValueError as error:
        message = f"cannot read the line of the cell: {error}. {_USAGE}"
        raise ValueError(message) from None
    names: list[str] = []
    values: dict[str, str] = {}
    for word in words:
        option, sign, value = word.partition("=")
        if option in _OPTIONS:
            values[_OPTIONS[option]] = value if sign else next(words, "")
            if not values[_OPTIONS[option]]:
                message = f"{option} needs a value. {_USAGE}"
                raise ValueError(message)
        elif word.startswith("-"):
            message = f"unknown option {safe_repr(option)}: {unknown_name(option, _OPTIONS)} {_USAGE}"
            raise ValueError(message)
        else:
            names.append(word)
    return names, values


def _find_toolkit(name: str, namespace: Mapping[str, object]) -> Toolkit:
    """Return the toolkit of a name, such as `toolkit` or `shop.toolkit`.

    Without a name, it is the variable `toolkit`, or the only one there is. Raises ValueError for anything else.
    """
    known = {key: value for key, value in namespace.items() if isinstance(value, Toolkit) and key[:1] != "_"}
    if name:
        first, *rest = name.split(".")
        if first not in namespace:
            message = f"no variable {safe_name(first)}: {unknown_name(first, known)} {_USAGE}"
            raise ValueError(message)
        value = namespace[first]
        for attribute in rest:
            value = getattr(value, attribute, None)
        if isinstance(value, Toolkit):
            return value
        message = (
            f"expected {safe_name(name)} to be a Toolkit, got {type(value).__name__}: write toolkit = Toolkit([...]) "
            f"with your tools in a cell, and %%ez_ptc toolkit"
        )
    elif "toolkit" in known:
        return known["toolkit"]
    elif len({id(toolkit) for toolkit in known.values()}) == 1:
        return next(iter(known.values()))
    elif known:
        message = f"which toolkit? There are {safe_names(known)}: write %%ez_ptc {next(iter(known))}"
    else:
        message = "there is no Toolkit yet: write toolkit = Toolkit([...]) with your tools in a cell before this one"
    raise ValueError(message)
