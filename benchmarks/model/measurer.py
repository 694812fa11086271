"""The process of one subject: ``python -m benchmarks.model.measurer SUBJECT WORLD``, or a number for so many tools.

A further number is that of other tools among which those of the world stand.

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
from benchmarks.model.worlds.distractors import distractors

__all__ = ["main"]


def main(name: str, place: str, others: int = 0) -> None:
    """Answer questions about the subject `name` over the world `place`, and `others` tools beside it."""
    # What programs and peers print is no answer of ours.
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        tools = world(WORLDS[0] if place.isdecimal() else place)
        functions = [*(many(int(place)) if place.isdecimal() else tools.TOOLS)]
        functions += distractors(others, {function.__name__ for function in functions})
        functions.sort(key=lambda function: function.__name__ if others else "")
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
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
