"""`ez-ptc doctor`: the isolation on this machine, missing features, and remedies."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from ez_ptc._distribution import VERSION
from ez_ptc.cli.terminal import printable_lines
from ez_ptc.sandbox.protocol.both_ends.limits import LIMITS
from ez_ptc.toolkit.execution.backends import check_kernel, check_other, check_wasm, select

if TYPE_CHECKING:
    from rich.console import Console

    from ez_ptc.sandbox.protocol.isolation import Report

__all__ = ["print_report", "show_report"]

_REQUIRED: Final = "required"
_OPTIONAL: Final = "optional"


def show_report(*, as_json: bool) -> int:
    """Start a sandbox, print its report, and return 0 if all requirements are met, else 1.

    Raises:
        SandboxError: No sandbox can be started.
    """
    kernel, wasm = check_kernel(), check_wasm()
    backend = select(kernel, wasm)
    other = check_other(backend)
    report = other or (wasm if backend == "wasm" else kernel)
    if as_json:
        data = {
            "sufficient": report.sufficient,
            "backend": backend,
            "layers": [asdict(layer) for layer in kernel.layers],
            "wasm": [asdict(layer) for layer in wasm.layers],
            **({} if other is None else {"other": [asdict(layer) for layer in other.layers]}),
            "versions": _versions(),
            "limits": {name: [limit.default, limit.unit, limit.enforcer] for name, limit in LIMITS.items()},
        }
        print(json.dumps(data, indent=2))
    else:
        from rich.console import Console

        print_report(kernel, wasm, backend, Console(highlight=False), other=other)
    return 0 if report.sufficient else 1


def _versions() -> dict[str, str]:
    return {
        "ez_ptc": VERSION,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }


def print_report(kernel: Report, wasm: Report, backend: str, console: Console, *, other: Report | None = None) -> None:
    """Print the enforced and the missing layers of each backend, with remedies, and which one runs programs.

    There is an `other` one if `EZ_PTC_SANDBOX` names that of another package.
    """
    console.print("Isolation of each program by this machine's kernel", style="bold")
    _print_layers(kernel, console, is_used=backend != "wasm" and other is None)
    console.print("Isolation of each program by WebAssembly, in the process of its caller", style="bold")
    _print_layers(wasm, console, is_used=backend == "wasm")
    report, name = (wasm, "in WebAssembly") if backend == "wasm" else (kernel, "in processes that the kernel confines")
    if other is not None:
        console.print(
            f"Isolation of each program by the sandbox {printable_lines(backend)}", style="bold", markup=False
        )
        _print_layers(other, console, is_used=True)
        report, name = other, f"in the sandbox {printable_lines(backend)}"
    console.print(printable_lines(", ".join(f"{name} {value}" for name, value in _versions().items())), style="dim")
    defaults = [f"{name} {limit.default:,} {limit.unit}" for name, limit in LIMITS.items() if limit.default is not None]
    console.print(f"Limits of each program, if no others are set: {', '.join(defaults)}", style="dim")
    if report.sufficient and not report.enforced:
        console.print(f"Programs can run here, {name}, but nothing isolates them.", style="bold yellow", markup=False)
    elif report.sufficient:
        console.print(f"All requirements are met: programs can run here, {name}.", style="green", markup=False)
    else:
        console.print(f"A requirement is not met: programs cannot run here {name}.", style="bold red", markup=False)


def _print_layers(report: Report, console: Console, *, is_used: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for layer in report.layers:
        # What another backend misses keeps no program from running.
        is_required = layer.required and (is_used or layer.held)
        if layer.held:
            status = Text("enforced", "green")
        elif is_required:
            status = Text("MISSING", "bold red")
        else:
            status = Text("unavailable", "yellow")
        details = Text(printable_lines(layer.detail), overflow="fold")
        if not layer.held and layer.advice:
            details.append(f"\nWhat to do: {printable_lines(layer.advice)}", "bold")
        table.add_row(status, layer.name, _REQUIRED if is_required else _OPTIONAL, details)
    console.print(table)
