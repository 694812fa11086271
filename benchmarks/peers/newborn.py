"""What a new interpreter needs until it has a library imported, and until its first program has run."""

import json
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["NEWBORN_MEASURES", "ROOT", "NewbornMeasure"]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
"""Where `benchmarks` can be imported."""

# Nothing is imported before the clock starts but what the clock needs, which an interpreter has loaded anyway.
_IMPORT: Final = """
import sys, time
began = time.perf_counter()
__import__(sys.argv[2])
took = time.perf_counter() - began
import json
print(json.dumps({"seconds": took, "loads_pydantic": "pydantic" in sys.modules}))
"""
_FIRST: Final = """
import sys, time
began = time.perf_counter()
from benchmarks.peers.subjects import start
subject = start(sys.argv[1])
subject.run("x = 1 + 1\\nx")
took = time.perf_counter() - began
import json
print(json.dumps({"seconds": took}))
subject.close()
"""
# The figures that no peer has, since they are about toolkits and conversations.
_LIBRARY: Final = """
import json
from benchmarks.peers.own_growth import {0}
print(json.dumps({0}({1})._asdict()))
"""
_OWN: Final = (
    ("early", "programs 3 to 14 of a toolkit, 20 ms apart", "seconds", "measure_early_programs", 14, "seconds"),
    ("turn", "CPU of a blocking turn with a tool call", "seconds", "measure_turns", 20, "cpu"),
    ("turn_500", "CPU of turn 500 of a conversation", "seconds", "measure_turns", 500, "cpu"),
    ("tools_3000", "CPU of a toolkit of 3,000 tools and its prompt", "seconds", "measure_tools", 3_000, "cpu"),
    ("tools_3000_memory", "memory of these tools", "bytes", "measure_tools", 3_000, "memory"),
)
_LIBRARIES: Final = {"ours": "ez_ptc", "wasm": "ez_ptc", "monty": "pydantic_monty", "ez_ptc_0_4": "ez_ptc"}


@dataclass(frozen=True, slots=True)
class NewbornMeasure:
    """One figure that takes a new interpreter each time.

    Attributes:
        name: What JSON calls it.
        title: What the table calls it.
        unit: What the figure counts; a flag is 1 or 0.
        script: What the interpreter runs, with the subject's name and its library's as arguments.
        key: Which part of the script's answer is the figure.
        once: The figure does not vary: one round is enough.
        subjects: Those that have the figure.
    """

    name: str
    title: str
    unit: str
    script: str
    key: str
    once: bool = False
    subjects: Collection[str] = frozenset(_LIBRARIES)

    def take(self, subject: str, python: str, environment: Mapping[str, str]) -> float | None:
        """Return the figure of ``subject`` with the interpreter ``python``, or None where there is nothing to import.

        Raises subprocess.CalledProcessError where the script fails.
        """
        if subject not in self.subjects:
            return None
        # Installed packages have their bytecode, and a checkout has it from its second start on.
        environment = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
        command: Sequence[str] = [python, "-c", self.script, subject, _LIBRARIES[subject]]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        answer: dict[str, float] = json.loads(done.stdout)
        return float(answer[self.key])


NEWBORN_MEASURES: Final[tuple[NewbornMeasure, ...]] = (
    NewbornMeasure("import", "import", "seconds", _IMPORT, "seconds"),
    NewbornMeasure("import_pydantic", "import loads pydantic", "flag", _IMPORT, "loads_pydantic", once=True),
    NewbornMeasure("first", "first program of a new process", "seconds", _FIRST, "seconds"),
    *(
        NewbornMeasure(name, title, unit, _LIBRARY.format(part, size), key, subjects={"ours"})
        for name, title, unit, part, size, key in _OWN
    ),
)
