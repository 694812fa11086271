"""Decisions of a page about calls that change between reading and recording."""

from pathlib import Path

import pytest

from ez_ptc import Approve, DecisionError, Journal, Run, Toolkit
from ez_ptc.cli.viewing.decisions import decide_call
from tests.cli.viewing.serving import refund


class _EarlyReader(Journal):
    """A journal whose run was read before its last call."""

    before: Run

    def run(self, id: str) -> Run:  # noqa: A002 - as in its base
        assert id == self.before.id
        return self.before


@pytest.mark.parametrize("digest", ["", "0" * 64])
def test_call_that_begins_to_wait_after_the_reading_is_not_decided(tmp_path: Path, digest: str) -> None:
    path = tmp_path / "runs.db"
    body = f'{{"run": "run", "path": "2", "digest": "{digest}", "decision": "approve"}}'
    with Toolkit([refund], journal=path) as toolkit, _EarlyReader(path) as journal:
        paused = toolkit.execute("refund('Ada', 1)\nrefund('Bob', 2)", run_id="run")
        journal.before = Journal.run(journal, "run")
        toolkit.resume("run", {paused.pending[0].id: Approve()})
        with pytest.raises(DecisionError, match="load it again; nothing was decided"):
            decide_call(journal, body.encode(), "Eve")
        assert [call.path for call in Journal.run(journal, "run").pending] == ["2"]
