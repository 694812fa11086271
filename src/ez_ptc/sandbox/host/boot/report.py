"""Judging the facts of a boot: which isolation layers hold, which are required, and what to do about missing ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ez_ptc.sandbox.protocol.isolation import Layer, Report

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["judge", "nothing_holds"]

_CONTAINER = "in a container, use its default seccomp profile, or one that allows seccomp(2) and prctl(2)"
_LOCKDOWN = f"raise the limit if one is named; else, {_CONTAINER}"
_PIDFD = (
    "use a kernel and a seccomp profile with pidfd_open(2) and pidfd_send_signal(2) (5.3 or later; not every gVisor)"
)
_SIGNALS = "allow this process to signal those that it starts: see its user, its capabilities, and its security modules"
_LANDLOCK = "use a kernel with Landlock (5.13 or later, with landlock in its lsm= list)"
_NAMESPACES = (
    "allow unprivileged user namespaces (sysctl user.max_user_namespaces and, on Ubuntu, "
    "kernel.apparmor_restrict_unprivileged_userns=0), or start as root outside a container"
)
_USER = "start as a user other than root, or as root with the capabilities SETUID, SETGID and KILL"
_FILES = f"{_LANDLOCK}; or {_NAMESPACES}"


def judge(facts: Mapping[str, object]) -> Report:
    """Return the isolation report for the facts of a zygote's boot."""
    return Report((*_required_layers(facts), *_optional_layers(facts)))


def _required_layers(facts: Mapping[str, object]) -> list[Layer]:
    allowed = cast("list[str]", facts["allowed"])
    landlock = cast("int", facts["landlock"])
    by = [f"Landlock {landlock}"] * bool(landlock) + ["an empty root"] * bool(facts["empty_root"])
    return [
        _required_layer(
            "system call filter",
            held=bool(facts["seccomp"]),
            by="a seccomp allow-list",
            lacking="; ".join(allowed),
            advice=_CONTAINER,
        ),
        _required_layer(
            "no files",
            held=bool(facts["files_held"]),
            by=" and ".join(by),
            lacking="a confined process could open files",
            advice=_FILES,
        ),
        _required_layer(
            "probe",
            held=not allowed,
            by="everything that must fail was tried, and failed",
            lacking=f"a confined process could {', '.join(allowed)}",
            advice=_CONTAINER,
        ),
        _required_layer(
            "ending programs",
            held=bool(facts["pidfds"] and facts["ended"]),
            by="a process was ended by its pidfd",
            lacking="a process could not be held and ended by a pidfd",
            advice=_PIDFD if not facts["pidfds"] else _SIGNALS,
        ),
    ]


def _optional_layers(facts: Mapping[str, object]) -> list[Layer]:
    refused = cast("dict[str, str]", facts["refused"])
    namespaces = cast("list[str]", facts["namespaces"])
    root_refused = refused.get("empty_root", refused.get("mount"))
    return [
        _optional_layer("Landlock", held=bool(facts["landlock"]), refused=refused.get("landlock"), advice=_LANDLOCK),
        _optional_layer("empty root", held=bool(facts["empty_root"]), refused=root_refused, advice=_NAMESPACES),
        _optional_layer("unprivileged user", held=facts["uid"] != 0, refused=refused.get("uid"), advice=_USER),
        *(
            _optional_layer(f"{name} namespace", held=name in namespaces, refused=refused.get(name), advice=_NAMESPACES)
            for name in ("user", "pid", "network", "ipc", "uts", "mount")
        ),
    ]


def nothing_holds(reason: str) -> Report:
    """Return the report of a boot abandoned for `reason`."""
    return Report((_required_layer("lockdown", held=False, by="", lacking=reason, advice=_LOCKDOWN),))


def _required_layer(name: str, *, held: bool, by: str, lacking: str, advice: str) -> Layer:
    return Layer(name=name, required=True, held=held, detail=by if held else lacking, advice="" if held else advice)


def _optional_layer(name: str, *, held: bool, refused: str | None, advice: str) -> Layer:
    detail = "" if held else f"the kernel answered {refused}" if refused else "not there"
    return Layer(name=name, required=False, held=held, detail=detail, advice="" if held else advice)
