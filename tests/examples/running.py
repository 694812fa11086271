"""Starts an example as its reader does: its own process, an empty folder, and no key of a model in the environment."""

import os
import sys
from pathlib import Path
from typing import Final

__all__ = ["EXAMPLES", "environment_of"]

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"


def environment_of(**variables: str) -> dict[str, str]:
    """Return the environment of an example: this one, without the keys and the model of whoever runs the tests."""
    kept = {
        name: value for name, value in os.environ.items() if not name.endswith("_API_KEY") and name != "EZ_PTC_MODEL"
    }
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"} | variables
