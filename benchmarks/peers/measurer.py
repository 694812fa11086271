"""The process that measures one subject: ``python -m benchmarks.peers.measurer SUBJECT``.

It starts the subject, says that it is ready, and answers each line of its input, the name of a measure, with a line of
JSON: the figure, or ``{"problem": ...}``. It ends with its input. Standard library only, as `subject`.
"""

import contextlib
import io
import json
import sys

from benchmarks.peers.measures import MEASURES
from benchmarks.peers.subject import Subject
from benchmarks.peers.subjects import start

__all__ = ["main"]


def main(name: str) -> None:
    """Answer questions about the subject ``name``."""
    try:
        subject = start(name)
        subject.run("1")
    except Exception as error:  # noqa: BLE001 - a peer is foreign code; what it raises is its column's note
        _say({"problem": f"{type(error).__name__}: {error}"})
        return
    _say(None)
    try:
        for line in sys.stdin:
            _say(_figure(subject, line.strip()))
    finally:
        subject.close()


def _figure(subject: Subject, measure: str) -> object:
    take = next(each.take for each in MEASURES if each.name == measure)
    try:
        # What programs of this process print would otherwise be taken for an answer.
        with contextlib.redirect_stdout(io.StringIO()):
            return take(subject)
    except Exception as error:  # noqa: BLE001 - a peer is foreign code; its row says what it raised
        return {"problem": f"{measure}: {type(error).__name__}: {error}"}


def _say(answer: object) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
