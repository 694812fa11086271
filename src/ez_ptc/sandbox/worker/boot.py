"""The first file of the zygote, started by path with an empty environment.

It makes its own folder importable as a package, called ``ez_worker``, without making the folders above visible: nothing
of ez_ptc outside this folder is ever imported here. The one argument is the descriptor of the control socket.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import socket
import sys

__all__ = ["load_package"]

_PACKAGE = "ez_worker"


def load_package() -> None:
    """Put this folder's package into ``sys.modules``."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        _PACKAGE, f"{folder}/__init__.py", submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise ImportError(folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules[_PACKAGE] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    load_package()
    importlib.import_module(f"{_PACKAGE}.birth").main(socket.socket(fileno=int(sys.argv[1])))
