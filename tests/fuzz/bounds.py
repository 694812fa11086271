"""What one input may cost: a fuzzer's findings are not only crashes."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["MAX_BYTES", "MAX_SECONDS", "bounded"]

MAX_SECONDS = 1.0
MAX_BYTES = 64 << 20
# Until then, modules are imported and caches are filled.
_WARM_INPUTS = 2_000


def bounded(survive: Callable[[bytes], object]) -> Callable[[bytes], None]:
    """Return a function that raises if an input takes too long or too much, or if the process grows over many."""
    inputs = 0
    warm_size = 0

    def run(data: bytes) -> None:
        nonlocal inputs, warm_size
        peak, started = _peak(), time.process_time()
        survive(data)
        seconds, grown = time.process_time() - started, _peak() - peak
        inputs += 1
        assert seconds <= MAX_SECONDS, f"{seconds:.2f} s of CPU time"
        if inputs == _WARM_INPUTS:
            gc.collect()
            warm_size = _size()
        if inputs > _WARM_INPUTS:
            assert grown <= MAX_BYTES, f"a peak of {grown:,} bytes more"
            if inputs % _WARM_INPUTS == 0:
                gc.collect()
                assert _size() - warm_size <= MAX_BYTES, f"{_size() - warm_size:,} bytes more after {inputs:,} inputs"

    return run


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _size() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
