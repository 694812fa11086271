"""The sandbox's processes in `ps`: they have names, and no path of the host."""

import os
from pathlib import Path

from ez_ptc import ProcessSandbox, Toolkit, ez_tool
from tests.sandbox.processes import descendants


def test_processes_have_names_and_no_paths() -> None:
    named: dict[int, str] = {}
    commands: set[bytes] = set()
    others = descendants(os.getpid())

    @ez_tool
    def look() -> None:
        """Read the names of the sandbox's processes."""
        for pid in descendants(os.getpid()) - others:
            named[pid] = Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
            commands.add(Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0"))

    with ProcessSandbox(ready=1) as sandbox:
        sandbox.warm_up()
        assert Toolkit([look], sandbox=sandbox).execute("look()").error is None
    assert sorted(set(named.values())) == ["ez-ptc worker", "ez-ptc zygote"]
    assert commands == {b"ez-ptc sandbox"}
