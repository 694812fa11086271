"""`ez-ptc doctor`: the isolation on this machine, missing features, and remedies."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from ez_ptc.cli.terminal import printable_lines
from ez_ptc.cli.version import installed_version
from ez_ptc.sandbox.process.isolation import check

if TYPE_CHECKING:
    from rich.console import Console

    from ez_ptc.sandbox.isolation import Report

__all__ = ["print_report", "show_report"]

_REQUIRED: Final = "required"
_OPTIONAL: Final = "wanted"


def show_report(*, as_json: bool) -> int:
    """Start a sandbox, print its report, and return 0 if all requirements are met, else 1.

    Raises:
        SandboxError: No sandbox can be started.
    """
    report = check()
    if as_json:
        layers = [asdict(layer) for layer in report.layers]
        print(json.dumps({"sufficient": report.sufficient, "layers": layers, "versions": _versions()}, indent=2))
    else:
        from rich.console import Console

        print_report(report, Console(highlight=False))
    return 0 if report.sufficient else 1


def _versions() -> dict[str, str]:
    return {
        "ez_ptc": installed_version(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }


def print_report(report: Report, console: Console) -> None:
    """Print the enforced and the missing layers, with remedies."""
    from rich.table import Table
    from rich.text import Text

    console.print("Isolation of each program on this machine", style="bold")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for layer in report.layers:
        if layer.held:
            status = Text("enforced", "green")
        elif layer.required:
            status = Text("MISSING", "bold red")
        else:
            status = Text("unavailable", "yellow")
        details = Text(printable_lines(layer.detail))
        if not layer.held and layer.advice:
            details.append(f"\nWhat to do: {printable_lines(layer.advice)}", "bold")
        table.add_row(status, layer.name, _REQUIRED if layer.required else _OPTIONAL, details)
    console.print(table)
    console.print(printable_lines(", ".join(f"{name} {value}" for name, value in _versions().items())), style="dim")
    if report.sufficient:
        console.print("All requirements are met: programs can run here.", style="green")
    else:
        console.print("A requirement is not met: programs cannot run here.", style="bold red")
