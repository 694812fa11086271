"""Random bytes for what reads foreign input, guided by what they reach: `make fuzz TARGET=openapi` runs it.

``python -m tests.fuzz.fuzzing TARGET FOLDER [libFuzzer's options]`` keeps inputs of interest in FOLDER, and stops at
the first finding: anything but a result or a clean refusal, more than a second of CPU time, or more than 64 MB. It
becomes a file in `corpus/TARGET`, which the tests replay. ``frames --list FOLDER`` prints, as the JSON that the tests
replay, one input of a folder for each kind of outcome.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["main"]

HERE = Path(__file__).parent
TARGETS = {
    "frames": ("tests.fuzz.hostile_bytes", ["ez_ptc.sandbox", "json"]),
    "history": ("tests.fuzz.histories", ["ez_ptc.conversation.saving", "ez_ptc.formats", "ez_ptc.messages"]),
    "mcp": ("tests.fuzz.mcp_messages", ["ez_ptc.mcp.server", "ez_ptc.schema", "ez_ptc.tools"]),
    "openapi": ("tests.fuzz.openapi_documents", ["ez_ptc.openapi", "ez_ptc.schema", "ez_ptc.formats"]),
}
OPTIONS = ["-timeout=20", "-rss_limit_mb=1024", "-max_len=4096"]
_WORD = re.compile("[a-zA-Z]+")


def listed(folder: Path) -> list[str]:
    """Return the shortest input for each kind of outcome, as text with a character a byte."""
    from tests.fuzz.hostile_bytes import survive

    kinds: dict[frozenset[str], bytes] = {}
    for data in sorted((path.read_bytes() for path in folder.iterdir()), key=lambda data: (len(data), data)):
        kinds.setdefault(frozenset(_WORD.findall("".join(survive(data)))), data)
    return [data.decode("latin-1") for data in kinds.values()]


def known_inputs(target: str) -> list[bytes]:
    """Return the inputs that the tests replay."""
    if target == "frames":
        texts: list[str] = json.loads((HERE / "frames.json").read_text(encoding="utf-8"))
        return [text.encode("latin-1") for text in texts]
    return [path.read_bytes() for path in sorted((HERE / "corpus" / target).iterdir())]


def main(arguments: list[str]) -> None:
    """Fuzz, or list what fuzzing has found."""
    target, *options = arguments
    if options[0] == "--list":
        sys.stdout.write(json.dumps(listed(Path(options[1])), indent=0) + "\n")
        return
    folder = Path(options[0])
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(known_inputs(target)):
        (folder / f"known-{number}").write_bytes(data)
    module, instrumented = TARGETS[target]
    # It lives in an environment of its own.
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=instrumented):
        survive: Callable[[bytes], object] = importlib.import_module(module).survive
    from tests.fuzz.bounds import bounded

    atheris.Setup([sys.argv[0], *options, f"-dict={HERE / f'{target}.dict'}", *OPTIONS], bounded(survive))
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
