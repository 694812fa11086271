"""The check that each dependency has a wheel for each platform."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from scripts.check_wheels import PLATFORMS, ROOT, find_missing, main

OWN = {"name": "ez-ptc-py", "dependencies": [{"name": "one"}], "optional-dependencies": {"extra": [{"name": "two"}]}}


def locked(*wheels: str, **more: Any) -> dict[str, Any]:
    """Return a lock whose only dependency has these wheels."""
    package = {"name": "one", "version": "1.0", "wheels": [{"url": f"https://host/{wheel}"} for wheel in wheels]}
    return {"package": [OWN, package | more]}


def test_lock_has_wheels_for_each_platform(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0, capsys.readouterr().out


def test_plain_installation_needs_no_compiler() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    assert find_missing(lock, ["cli", "anthropic", "openai"]) == set()


def test_pure_wheels_are_for_each_platform() -> None:
    assert find_missing(locked("one-1.0-py3-none-any.whl"), []) == set()


def test_missing_platforms_are_found_by_name() -> None:
    wheels = ["one-1.0-cp311-abi3-manylinux_2_28_x86_64.whl", "one-1.0-py3-none-win_amd64.whl"]
    missing = {platform for _, platform in find_missing(locked(*wheels), [])}
    assert missing == {platform.name for platform in PLATFORMS} - {"Linux x86-64", "Windows x86-64"}


def test_wheels_of_one_python_do_not_count_for_others() -> None:
    assert ("one", "macOS arm64") in find_missing(locked("one-1.0-cp313-cp313-macosx_11_0_arm64.whl"), [])


def test_dependencies_of_other_platforms_are_not_asked() -> None:
    lock = locked("one-1.0-py3-none-any.whl", dependencies=[{"name": "two", "marker": "sys_platform == 'win32'"}])
    lock["package"].append({"name": "two", "version": "2.0", "wheels": []})
    assert find_missing(lock, []) == {("two", "Windows x86-64")}
