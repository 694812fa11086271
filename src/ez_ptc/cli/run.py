"""`ez-ptc run`: a program from a file, run with somebody's toolkit."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ez_ptc.cli.calls import call_text, outcome_text
from ez_ptc.cli.pictures import save_pictures, show_pictures
from ez_ptc.cli.terminal import write
from ez_ptc.errors import EzPtcError
from ez_ptc.formats.content import as_json as json_of
from ez_ptc.sandbox.execution import Limits
from ez_ptc.toolkit.toolkit import Toolkit

if TYPE_CHECKING:
    from ez_ptc.sandbox.execution import ExecutionResult

__all__ = ["CommandError", "load_toolkit", "run_program"]


class CommandError(EzPtcError):
    """What a command line asks for is not there; the message says what to write instead."""


def run_program(
    file: str, tools: str, *, timeout: float | None, show_calls: bool, as_json: bool, images: Path | None = None
) -> int:
    """Run a program, print how it ended, and return 0 when it succeeded, else 1. Its pictures go to a folder.

    Raises:
        CommandError: The program or the toolkit is not there, no program can have that time, or the folder cannot be
            written.
        SandboxError: No program can be run here.
    """
    _check_timeout(timeout, Limits())
    program = _read(file)
    with load_toolkit(tools) as toolkit:
        _check_timeout(timeout, toolkit.limits)
        result = toolkit.execute(program, timeout)
    if as_json:
        print(_as_json(result))
    else:
        _print(result, show_calls=show_calls)
    if images is not None:
        _save(result, images)
    elif not as_json:
        show_pictures(result.images)
    return 0 if result.success else 1


def load_toolkit(place: str) -> Toolkit:
    """Return the Toolkit at `module:name`; the module is looked for in the present folder first.

    Raises:
        CommandError: It is not there, or is no Toolkit.
    """
    module_name, _, name = place.partition(":")
    if not (module_name and name):
        message = f"--tools takes module:name, such as shop:toolkit, and not {place!r}"
        raise CommandError(message)
    module = _import(module_name)
    if not hasattr(module, name):
        there = [key for key, value in vars(module).items() if isinstance(value, Toolkit)]
        message = f"{module_name} has no {name!r}; the Toolkits in it: {', '.join(there) or 'none'}"
        raise CommandError(message)
    found: object = getattr(module, name)
    if not isinstance(found, Toolkit):
        message = (
            f"{place} is no Toolkit but a {type(found).__name__}: "
            f"write toolkit = Toolkit([...]) in {module_name}, with your tools in the list, "
            f"and --tools {module_name}:toolkit"
        )
        raise CommandError(message)
    return found


def _check_timeout(timeout: float | None, limits: Limits) -> None:
    try:
        replace(limits, timeout=limits.timeout if timeout is None else timeout)
    except ValueError as error:
        message = f"--timeout: expected seconds, more than 0 and at most a year, got {timeout}; give another number"
        raise CommandError(message) from error


def _import(name: str) -> object:
    if name.endswith(".py") or "/" in name:
        name_ = name.removesuffix(".py").strip("./").replace("/", ".")
        message = f"--tools takes a module's name, not a file: {name_} instead of {name}"
        raise CommandError(message)
    folder = Path.cwd()
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        message = f"there is no module {error.name!r} in {folder}, and none of that name is installed"
        raise CommandError(message) from error


def _read(file: str) -> str:
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        message = f"the program cannot be read: {error.strerror or error}: {file}"
        raise CommandError(message) from error
    except UnicodeDecodeError as error:
        message = f"the program cannot be read: {file} is not text in UTF-8 ({error.reason} at byte {error.start})"
        raise CommandError(message) from error


def _print(result: ExecutionResult, *, show_calls: bool) -> None:
    """Print a program's output as its own, its errors on standard error, and its value where it printed nothing."""
    if show_calls:
        for call in result.tool_calls:
            print(f"{call_text(call)} -> {outcome_text(call)}", file=sys.stderr)
    write(sys.stdout, result.output)
    if result.success and not result.output and result.value_text():
        write(sys.stdout, f"{result.value_text()}\n")
    write(sys.stderr, result.error_output)
    if not result.success and result.error and result.error not in result.error_output:
        write(sys.stderr, f"{result.error}\n")


def _save(result: ExecutionResult, folder: Path) -> None:
    try:
        save_pictures(result.images, folder)
    except OSError as error:
        message = f"the pictures cannot be saved: {error.strerror or error}: {folder}"
        raise CommandError(message) from error


def _as_json(result: ExecutionResult) -> str:
    """Return a result as JSON in ASCII: bytes in base64, and the `str` of what JSON has no form for."""
    plain = {field.name: json_of(getattr(result, field.name)) for field in fields(result)}
    return json.dumps(plain, indent=2).replace("\x7f", "\\u007f")
