"""Many callers at a time share the workers that are restored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ez_ptc import Toolkit
from ez_ptc.sandbox.process.backend import ProcessSandbox

READY, CALLERS, PROGRAMS = 2, 24, 240


def test_more_callers_than_workers_share_the_restored_ones() -> None:
    with ProcessSandbox(ready=READY, fresh="restored") as sandbox, ThreadPoolExecutor(CALLERS) as callers:
        toolkit = Toolkit([], sandbox=sandbox)
        zygote = sandbox._pool.zygote()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no program can tell
        kept = zygote.ready.kept
        assert kept is not None
        while not kept.ready_count:
            toolkit.execute("1")
            sandbox.cool_down()
        before = kept.restored
        results = callers.map(toolkit.execute, [f"{number} + 1" for number in range(PROGRAMS)])
        assert [result.return_value for result in results] == list(range(1, PROGRAMS + 1))
        sandbox.cool_down()
        # They are numbered as they are made, and making one takes as long as restoring a hundred.
        assert max(kept.numbers) <= READY
        assert kept.restored - before > PROGRAMS / 2
