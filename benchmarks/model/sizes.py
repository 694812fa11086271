"""``python -m benchmarks.model.sizes``: how many tokens a model reads of 3, 30 and 300 tools, as OpenAI counts them."""

import argparse
import json
from contextlib import closing
from pathlib import Path
from typing import Final

import bpe_openai

from benchmarks.model.process import Process, interpreter
from benchmarks.model.subjects import SUBJECTS

__all__ = ["main"]

_COUNTS: Final = (3, 8, 30, 300)
_ENCODING: Final = "o200k_base"


def main() -> None:
    """Print a row for each subject."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model.sizes", description=__doc__)
    parser.add_argument("--environments", type=Path, default=Path(".venv/model"), help="where the peers are installed")
    options = parser.parse_args()
    encoding = bpe_openai.get_encoding(_ENCODING)
    print(f"{'tokens':16}" + "".join(f"{count:>8}" for count in _COUNTS))
    for subject in SUBJECTS:
        row: list[int] = []
        for count in _COUNTS:
            with closing(Process(subject, str(count), interpreter(subject, options.environments))) as process:
                tools = json.dumps(process.tools) if process.tools else ""
                row.append(len(encoding.encode(process.system + tools)))
        print(f"{subject:16}" + "".join(f"{tokens:>8,}" for tokens in row), flush=True)


if __name__ == "__main__":
    main()
