"""How property tests draw their examples: the same ones in every run, or by chance where `make test-explore` looks."""

import os
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

__all__ = ["load_profile"]

_EXPLORE: Final = "EZ_PTC_EXPLORE"
_FAILURES: Final = Path(__file__).resolve().parent.parent / ".hypothesis" / "examples"


def load_profile() -> None:
    """Draw the same examples in every run, unless the environment asks to explore."""
    # A deadline and the check for slow data would judge the machine's load, not the code.
    patient = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
    database = DirectoryBasedExampleDatabase(_FAILURES)
    settings.register_profile("fixed", patient, derandomize=True, database=None, max_examples=10)
    settings.register_profile("explore", patient, derandomize=False, database=database, max_examples=1000)
    if _EXPLORE in os.environ:
        settings.load_profile("explore")
    else:
        settings.load_profile("fixed")
        _forget_modules()


def _forget_modules() -> None:
    """Draw no constants from our own modules: which are imported by then depends on the tests that ran before."""
    nothing = Constants()
    providers._get_local_constants = lambda: nothing  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - there is no setting for it
