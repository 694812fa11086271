"""The process that serves a local model: a program started by path, independent of our modules.

Its settings are one line of JSON on standard input. After loading the model it writes one line of JSON to standard
output, `{"url": …}` or `{"error": …}`, and serves until standard input ends, so it never outlives its parent.
"""

import importlib
import json
import os
import sys

__all__ = ["main"]

_QUIET = 0


def main() -> int:
    """Load the model, report its URL, and serve it."""
    settings = json.loads(sys.stdin.readline())
    xllamacpp = importlib.import_module("xllamacpp")

    parameters = xllamacpp.CommonParams()
    parameters.model.path = settings["path"]
    parameters.model_alias = {settings["alias"]}
    parameters.n_ctx = settings["context"]
    if settings["template"]:
        parameters.chat_template = settings["template"]
        parameters.use_jinja = True
    parameters.n_parallel = 1
    parameters.api_keys = [settings["key"]]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.verbosity = _QUIET
    # The prompt cache could grow to gigabytes.
    parameters.cache_ram_mib = 0
    parameters.ui = False
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError as error:
        _say(error=str(error))
        return 1
    _say(url=server.listening_address)
    sys.stdin.read()
    return 0


def _say(**words: str) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Without waiting for the engine's threads: nothing here needs an orderly end.
    os._exit(code)
