"""What the kernel enforces around programs: what was found at boot, what is required, and what to do about the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ez_ptc.errors import IsolationUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Layer", "Report", "check", "judge"]

_CONTAINER = "in a container, use its default seccomp profile or one that allows seccomp(2) and prctl(2)"
_NAMESPACE_ADVICE = (
    "allow unprivileged user namespaces (sysctl user.max_user_namespaces, "
    "kernel.apparmor_restrict_unprivileged_userns=0), or run as root outside a container"
)


@dataclass(frozen=True, slots=True)
class Layer:
    """One thing that the kernel can enforce."""

    name: str
    required: bool
    held: bool
    detail: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What was found by trying, when the sandbox started."""

    layers: tuple[Layer, ...]

    @property
    def enforced(self) -> list[Layer]:
        """The layers that hold."""
        return [layer for layer in self.layers if layer.held]

    @property
    def missing(self) -> list[Layer]:
        """The layers that do not."""
        return [layer for layer in self.layers if not layer.held]

    @property
    def sufficient(self) -> bool:
        """Whether everything required holds."""
        return all(layer.held for layer in self.layers if layer.required)

    def require(self) -> None:
        """Raise IsolationUnavailableError, with what is missing and what to do, unless everything required holds."""
        lacking = [layer for layer in self.missing if layer.required]
        if lacking:
            parts = [f"{layer.name}: {layer.detail}. What to do: {layer.advice}" for layer in lacking]
            message = "programs cannot be isolated here, so none is run. " + " ".join(parts)
            raise IsolationUnavailableError(message)


def judge(facts: Mapping[str, object]) -> Report:
    """Return what the facts of a zygote's boot mean."""
    refused = cast("dict[str, str]", facts["refused"])
    namespaces = cast("list[str]", facts["namespaces"])
    allowed = cast("list[str]", facts["allowed"])
    landlock = cast("int", facts["landlock"])
    seccomp = bool(facts["seccomp"])
    files = bool(facts["files_held"])
    layers = [
        Layer("system call filter", True, seccomp, "an allow-list by seccomp" if seccomp else "; ".join(allowed), _CONTAINER),
        Layer("no file is reachable", True, files, _file_detail(landlock, facts), "use a kernel with Landlock (5.13 or later, CONFIG_SECURITY_LANDLOCK=y, in the lsm= list), or allow namespaces"),
        Layer("probe", True, not allowed, "everything that must fail has failed" if not allowed else f"a confined process could: {', '.join(allowed)}", _CONTAINER),
        Layer("Landlock", False, bool(landlock), f"version {landlock}" if landlock else refused.get("landlock", ""), "use a kernel with Landlock (5.13 or later)"),
        Layer("empty root", False, bool(facts["empty_root"]), "pivot_root into an empty tmpfs" if facts["empty_root"] else refused.get("empty_root", refused.get("mount", "")), _NAMESPACE_ADVICE),
        Layer("unprivileged user", False, facts["uid"] != 0, f"uid {facts['uid']}", "start as root or as a plain user"),
    ]  # fmt: skip
    for name in ("user", "pid", "network", "ipc", "uts", "mount"):
        held = name in namespaces
        layers.append(Layer(f"{name} namespace", False, held, "own" if held else refused.get(name, ""), _NAMESPACE_ADVICE))
    return Report(tuple(layers))


def _file_detail(landlock: int, facts: Mapping[str, object]) -> str:
    if not facts["files_held"]:
        return "a confined process could open files"
    by = [f"Landlock {landlock}"] * bool(landlock) + ["an empty root"] * bool(facts["empty_root"])
    return "by " + " and ".join(by)


def check() -> Report:
    """Start a sandbox, look at what holds in it, end it again. Raises SandboxError when it cannot even start."""
    from ez_ptc.sandbox.process.zygote import ZygoteProcess

    zygote = ZygoteProcess()
    try:
        return zygote.report
    finally:
        zygote.close()
