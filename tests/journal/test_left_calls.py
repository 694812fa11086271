"""A call whose caller has left before it began: nothing is recorded about it that the resumed program would see."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

import pytest

from ez_ptc import DidNotHappen, Journal, Toolkit
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.host.calling import RecordedCall
from ez_ptc.sandbox.protocol.exchange import Exchange
from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
from ez_ptc.sandbox.protocol.frames import CallFrame
from ez_ptc.sandbox.protocol.interfaces import Channel
from ez_ptc.tools.call_lifetime import CallInterrupted
from tests.journal.programs import Effects

Moment = Literal["before its intent", "after its intent"]

_CALL = CallFrame(1, "1", "effect", ("a",), {}, alone=True)


class _LeavingSandbox(ProcessSandbox):
    """Makes the program's first call as its caller leaves."""

    moment: Moment

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        exchange = Exchange(code, channel, limits)
        if self.moment == "before its intent":
            exchange.leave()
        assert channel.recorder is not None
        assert channel.recorder.arrive(_CALL) is None

        class Call(RecordedCall):
            def begin(self, read_arguments: Callable[[], dict[str, object]]) -> None:
                super().begin(read_arguments)
                exchange.leave()

        life = Call(exchange, _CALL, nullcontext, channel.recorder)
        exchange.encode(_CALL, channel.call(_CALL.name, _CALL.args, _CALL.kwargs, life))
        return exchange.result()


@pytest.mark.parametrize(
    ("moment", "state"), [("before its intent", "resumable"), ("after its intent", "outcome_unknown")]
)
def test_call_that_came_too_late_runs_when_resumed(moment: Moment, state: str, tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    with Journal(tmp_path / "runs.db") as journal:
        with _LeavingSandbox() as sandbox:
            sandbox.moment = moment
            toolkit = Toolkit(effects.tools(), journal=journal, sandbox=sandbox)
            with pytest.raises(CallInterrupted):
                toolkit.execute("print(effect('a'))")
        (run,) = journal.runs()
        assert run.state == state
        assert not effects.lines()

        with Toolkit(effects.tools(), journal=journal) as toolkit:
            result = toolkit.resume(run.id, {call.id: DidNotHappen() for call in run.pending})
        assert (result.output, result.status) == ("a!\n", "done")
        assert effects.lines() == {"effect a": 1}
