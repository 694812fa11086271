"""Random bytes for the host's frame reader, guided by what they reach: `make fuzz` runs it.

``python -m tests.fuzz.fuzz_frames FOLDER [libFuzzer's options]`` keeps what it finds of interest in FOLDER, and stops
at the first finding: anything but a result or a clean refusal, more than 20 s, or more than 512 MB. ``--list FOLDER``
prints, as the JSON that the tests replay, one input of a folder for each kind of outcome.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

WORDS = Path(__file__).with_name("frames.dict")
_WORD = re.compile("[a-zA-Z]+")
OPTIONS = [f"-dict={WORDS}", "-timeout=20", "-rss_limit_mb=512", "-max_len=4096"]


def listed(folder: Path) -> list[str]:
    """Return the shortest input for each kind of outcome, as text with a character a byte."""
    from tests.fuzz.hostile_bytes import survive

    kinds: dict[frozenset[str], bytes] = {}
    for data in sorted((path.read_bytes() for path in folder.iterdir()), key=lambda data: (len(data), data)):
        kinds.setdefault(frozenset(_WORD.findall("".join(survive(data)))), data)
    return [data.decode("latin-1") for data in kinds.values()]


def main(arguments: list[str]) -> None:
    """Fuzz, or list what fuzzing has found."""
    if arguments[0] == "--list":
        sys.stdout.write(json.dumps(listed(Path(arguments[1])), indent=0) + "\n")
        return
    folder = Path(arguments[0])
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(json.loads(WORDS.with_name("frames.json").read_text(encoding="utf-8"))):
        (folder / f"known-{number}").write_bytes(text.encode("latin-1"))
    # It lives in an environment of its own.
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["ez_ptc.sandbox", "json"]):
        from tests.fuzz.hostile_bytes import survive

    atheris.Setup([sys.argv[0], *arguments, *OPTIONS], survive)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
