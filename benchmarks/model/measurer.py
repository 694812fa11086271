"""The process of one subject: ``python -m benchmarks.model.measurer SUBJECT WORLD``, or a number for so many tools.

It says as a line of JSON what the model reads, and answers each line of its input: `{"begin": question}` forgets
what was and returns the user's message, `{"run": answer}` runs an answer's program, `{"effects": null}` lists what has
been changed since the beginning. Standard library only, as `subject`.
"""

import json
import sys
from dataclasses import asdict

from benchmarks.model.subject import Subject
from benchmarks.model.subjects import start
from benchmarks.model.worlds import WORLDS, World, many, world

__all__ = ["main"]


def main(name: str, place: str) -> None:
    """Answer questions about the subject `name` over the world `place`."""
    # What programs and peers print is no answer of ours.
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        tools = world(WORLDS[0] if place.isdecimal() else place)
        functions = many(int(place)) if place.isdecimal() else tools.TOOLS
        subject = start(name, functions)
        said: object = {"system": subject.system, "tools": subject.tools, "stop": subject.stop}
    except Exception as error:  # noqa: BLE001 - a peer is foreign code; what it raises is its row's note
        print(json.dumps({"problem": f"{type(error).__name__}: {error}"}), file=answers, flush=True)
        return
    print(json.dumps(said), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(_answered(subject, tools, json.loads(line))), file=answers, flush=True)


def _answered(subject: Subject, tools: World, asked: dict[str, str]) -> object:
    if "begin" in asked:
        tools.begin()
        subject.begin()
        return subject.question(asked["begin"])
    if "run" in asked:
        return asdict(subject.run(asked["run"]))
    return tools.effects


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
