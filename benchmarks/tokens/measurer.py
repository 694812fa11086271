"""The process of one peer: ``python -m benchmarks.tokens.measurer PEER COUNT`` answers tasks with their requests.

A task is a line of JSON, `[world, question, names, program, answer]`. Where an answer has a text twice, the second one
is the number of its line, since it may have a megabyte. Standard library only.
"""

import json
import sys

from benchmarks.tokens.sets import SHARED, functions_for
from benchmarks.tokens.subjects import Peer, start

__all__ = ["main"]


def main(name: str, count: int) -> None:
    """Answer questions about the peer `name` with `count` tools."""
    answers, sys.stdout = sys.stdout, sys.stderr
    shared: Peer | None = None
    texts: dict[str, int] = {}
    for line in sys.stdin:
        place, question, names, code, answer = json.loads(line)
        try:
            peer = shared or start(name, functions_for(count, place, names))
            turns = peer.turns(question, names, code, answer)
        except Exception as error:  # noqa: BLE001 - a peer is foreign code; what it raises is its row's note
            print(json.dumps({"problem": f"{type(error).__name__}: {error}"[:500]}), file=answers, flush=True)
            return
        if count >= SHARED:
            shared = peer
        new = [text for text in dict.fromkeys(tools for tools, _, _ in turns) if text not in texts]
        texts |= {text: len(texts) + index for index, text in enumerate(new)}
        said = [[texts[tools], *rest] for tools, *rest in turns]
        print(json.dumps({"texts": new, "turns": said}), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
