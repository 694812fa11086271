"""`ez-ptc run` and `ez-ptc check`: a program from a file, with the user's toolkit; and how results are printed."""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ez_ptc.cli.calls import CallLines, call_text, outcome_text
from ez_ptc.cli.output.progress import ProgressBars
from ez_ptc.cli.pending import PAUSED, RunReference, pending_data, pending_lines
from ez_ptc.cli.terminal import write
from ez_ptc.errors import EzPtcError, ToolkitImportError
from ez_ptc.formats.content import as_json as json_of
from ez_ptc.sandbox.protocol.execution import Limits
from ez_ptc.sandbox.protocol.output_text import add_lines
from ez_ptc.toolkit import loading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ez_ptc.journal.journal import Journal
    from ez_ptc.messages import ImageMessage
    from ez_ptc.sandbox.protocol.events import ProgramEnded, ProgramEvent
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.toolkit.toolkit import Toolkit

__all__ = [
    "CommandError",
    "ResultOptions",
    "check_file",
    "escape_codes",
    "json_text",
    "load_toolkit",
    "print_result",
    "run_program",
    "save_pictures",
    "show_pictures",
]

# The maximum length of one escape code of kitty's protocol, in characters of base64.
_MAX_CHUNK: Final = 4096


def save_pictures(images: Sequence[ImageMessage], folder: Path) -> None:
    """Save pictures as picture-1.png, picture-2.png, …, and print their paths. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images, start=1):
        path = folder / f"picture-{number}.png"
        path.write_bytes(image.data or b"")
        print(path, file=sys.stderr)


def show_pictures(images: Sequence[ImageMessage]) -> None:
    """Show pictures on a terminal with image support, and otherwise print their number."""
    codes: list[str] = []
    if sys.stdout.isatty():
        codes = list(escape_codes(images, os.environ))
    for code in codes:
        sys.stdout.write(f"{code}\n")
    if images and not codes:
        print(f"[Pictures made: {len(images)}. --images FOLDER saves them.]", file=sys.stderr)


def escape_codes(images: Iterable[ImageMessage], environment: Mapping[str, str]) -> Iterable[str]:
    """Yield the escape code for each picture, or nothing for a terminal without known image support.

    Sources: kitty's "Terminal graphics protocol" (also Ghostty), iTerm2's "Inline Images Protocol" (also WezTerm).
    """
    program, terminal = environment.get("TERM_PROGRAM", ""), environment.get("TERM", "")
    for image in images:
        text = b64encode(image.data or b"").decode("ascii")
        if program in {"iTerm.app", "WezTerm"}:
            yield f"\x1b]1337;File=inline=1;size={len(image.data or b'')}:{text}\x07"
        elif "KITTY_WINDOW_ID" in environment or terminal in {"xterm-kitty", "xterm-ghostty"}:
            chunks = [text[start : start + _MAX_CHUNK] for start in range(0, len(text), _MAX_CHUNK)]
            codes = [f"\x1b_Gm=1;{chunk}\x1b\\" for chunk in chunks]
            codes[-1] = codes[-1].replace("m=1", "m=0", 1)
            codes[0] = codes[0].replace("m=", "a=T,f=100,m=", 1)
            yield "".join(codes)


class CommandError(EzPtcError):
    """An argument of a command is invalid; the message says what to write instead."""


@dataclass(frozen=True, slots=True)
class ResultOptions:
    """How a result is printed.

    Attributes:
        as_json: As JSON.
        show_calls: With the tool calls, on standard error.
        images: The folder for the program's pictures.
    """

    as_json: bool = False
    show_calls: bool = False
    images: Path | None = None


def run_program(
    file: str, tools: str, *, timeout: float | None, journal: str | None = None, options: ResultOptions
) -> int:
    """Run a program, recorded in a journal if there is one, print its result, and return the exit code for it.

    Raises:
        CommandError: The program or the toolkit is missing, the timeout is invalid, or the folder cannot be written.
        JournalError: The run cannot be recorded.
        SandboxError: Programs cannot run here.
    """
    _check_timeout(timeout, Limits())
    program = _read_program(file)
    toolkit = load_toolkit(tools)
    with ExitStack() as stack:
        if journal is not None:
            from ez_ptc.journal.journal import Journal  # SQLite is not needed otherwise

            toolkit = replace(toolkit, journal=stack.enter_context(Journal(journal)))
        stack.enter_context(toolkit)
        _check_timeout(timeout, toolkit.limits)
        result = _execute(toolkit, program, timeout, options)
    opened = cast("Journal | None", toolkit.journal)  # a Toolkit has replaced a path
    reference = None
    if opened is not None and result.run_id is not None:
        reference = RunReference(result.run_id, opened.name, tools)
    return print_result(result, reference, replace(options, show_calls=False))


def _execute(toolkit: Toolkit, program: str, timeout: float | None, options: ResultOptions) -> ExecutionResult:
    """Run a program; on a terminal, or if they are asked for, its calls are shown as they happen."""
    is_terminal = sys.stderr.isatty()
    if not is_terminal and not options.show_calls:
        return toolkit.execute(program, timeout)
    with ProgressBars() as bars, toolkit.stream(program, timeout) as events:
        lines = CallLines(bars, shows_starts=is_terminal and toolkit.approve is None)
        event: ProgramEvent | None = None
        for event in events:
            if not options.as_json:
                lines.add(event)
            bars.add(event)
        result = cast("ProgramEnded", event).result
        if not options.as_json:
            lines.add_rest(result)
    return result


def print_result(result: ExecutionResult, run: RunReference | None, options: ResultOptions) -> int:
    """Print a result, save its pictures to a folder, and return 0 if the program succeeded, 3 if it paused, else 1.

    `run` is the result's run in a journal, for the commands that continue it.

    Raises:
        CommandError: The folder cannot be written.
    """
    is_paused = run is not None and result.status == "paused"
    if options.as_json:
        values = {field.name: json_of(getattr(result, field.name)) for field in fields(result) if field.repr}
        print(json_text({**values, **pending_data(run, result.pending)} if run and is_paused else values))
    else:
        _print_text(result, options)
        if run and is_paused:
            for line in pending_lines(run, result.pending):
                print(line, file=sys.stderr)
    if options.images is not None:
        try:
            save_pictures(result.images, options.images)
        except OSError as error:
            message = f"cannot save the pictures: {error.strerror or error}: {options.images}"
            raise CommandError(message) from error
    elif not options.as_json:
        show_pictures(result.images)
    if is_paused:
        return PAUSED
    return 0 if result.success else 1


def json_text(value: Any) -> str:  # noqa: ANN401 - any JSON
    """Return JSON as text in ASCII, without any character that controls a terminal."""
    return json.dumps(value, indent=2).replace("\x7f", "\\u007f")


def check_file(file: str, tools: str) -> int:
    """Print the mistakes of a program as `file:line: …`, and return 1 if there are any, else 0.

    Raises:
        CommandError: The program or the toolkit is missing.
    """
    program = _read_program(file)
    with load_toolkit(tools) as toolkit:
        mistakes = toolkit.check(program)
    for mistake in mistakes:
        write(sys.stdout, f"{file}:{str(mistake).removeprefix('line ')}\n")
    return 1 if mistakes else 0


def load_toolkit(reference: str, folder: Path | None = None) -> Toolkit:
    """Return the Toolkit at `module:name`; `folder`, by default the current one, is searched last.

    Raises:
        CommandError: It is missing, or not a Toolkit.
    """
    try:
        return loading.load_toolkit(reference, folder or Path())
    except ToolkitImportError as error:
        raise CommandError(str(error)) from error


def _check_timeout(timeout: float | None, limits: Limits) -> None:
    try:
        replace(limits, timeout=limits.timeout if timeout is None else timeout)
    except ValueError as error:
        message = f"--timeout: expected a positive number of seconds, at most a year, got {timeout}"
        raise CommandError(message) from error


def _read_program(file: str) -> str:
    try:
        if file == "-":
            content = sys.stdin.buffer.read()
        else:
            content = Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        message = f"cannot read the program: {error.strerror or error}: {file}"
        raise CommandError(message) from error
    except UnicodeDecodeError as error:
        message = f"cannot read the program: {file} is not UTF-8 text ({error.reason} at byte {error.start})"
        raise CommandError(message) from error


def _print_text(result: ExecutionResult, options: ResultOptions) -> None:
    """Print a program's output or else its value, and on standard error its errors and all that a model is told."""
    if options.show_calls:
        for call in result.tool_calls:
            print(f"{call_text(call)} -> {outcome_text(call)}", file=sys.stderr)
    write(sys.stdout, result.output)
    if result.success and not result.output and result.value_text():
        write(sys.stdout, f"{result.value_text()}\n")
    lines: list[str | None] = [*result.facts, result.cut_text(), *result.notes]
    if result.status == "failed" and result.error and result.error not in result.error_output:
        lines.insert(0, result.error)
    write(sys.stderr, result.error_output)
    if any(lines):
        if result.error_output and not result.error_output.endswith("\n"):
            write(sys.stderr, "\n")
        write(sys.stderr, add_lines("", *lines) + "\n")
