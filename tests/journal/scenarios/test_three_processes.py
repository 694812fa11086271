"""The documented example: a program starts in one process, is approved in another, and ends in a third."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.scripts import ROOT, run_script

_SHOP = """
import os, signal, sys
from ez_ptc import Approve, Journal, Limits, Toolkit, ez_tool

folder = sys.argv[1]

def append(line):
    with open(f"{folder}/effects", "a") as file:
        file.write(line + "\\n")

@ez_tool
def reserve(item: str) -> str:
    "Reserve an item."
    append(f"reserve {item}")
    return f"reserved {item}"

@ez_tool(requires_approval=True)
def refund(order_id: int, amount: float) -> str:
    "Refund an order."
    append(f"refund {order_id} {amount}")
    return f"refunded {amount}"

PROGRAM = '''
import random
first, second = parallel((reserve, "a"), (reserve, "b"))
print(first, second, random.random())
print(refund(order_id=1, amount=50.0))
'''
toolkit = Toolkit([reserve, refund], journal=f"{folder}/runs.db", limits=Limits(seed=3))
"""
_START = "result = toolkit.execute(PROGRAM)\nassert result.status == 'paused' and not result.success\n"
_KILLED = _SHOP + _START + "os.kill(os.getpid(), signal.SIGKILL)"
_APPROVE = """
import sys
from ez_ptc import Approve, Journal
with Journal(sys.argv[1] + "/runs.db") as journal:
    (run,) = journal.runs("paused")
    (call,) = run.pending
    assert (call.tool, call.arguments) == ("refund", {"order_id": 1, "amount": 50.0})
    journal.decide(run.id, {call.id: Approve({"order_id": 1, "amount": 20.0}, by="ann")})
"""
_RESUME = """
(run,) = toolkit.journal.runs("resumable")
print(toolkit.resume(run.id).output, end="")
toolkit.journal.verify()
toolkit.close()
"""
_UNINTERRUPTED = """
result = toolkit.execute(PROGRAM)
decisions = {call.id: Approve({"order_id": 1, "amount": 20.0}) for call in result.pending}
print(toolkit.resume(result.run_id, decisions).output, end="")
toolkit.close()
"""
_CONVERSATION = (
    _SHOP
    + """
from ez_ptc import History, ScriptedProvider, ToolCall, llm

history = History(f"{folder}/history.db")

def conversation(*answers):
    return llm().toolkit(toolkit).provider(ScriptedProvider(*answers))

"""
)
_ASK = """
call = ToolCall("p", "execute_tools", {"code": PROGRAM})
_, paused = conversation(call, "done").converse("Refund order 1.")
assert paused.status == "paused", paused.status
"""
_ASKED = (
    _CONVERSATION
    + _ASK
    + """
with open(f"{folder}/id", "w") as file:
    file.write(history.save(paused))
os.kill(os.getpid(), signal.SIGKILL)
"""
)
_ANSWERED = (
    _CONVERSATION
    + """
with open(f"{folder}/id") as file:
    name = file.read()
_, finished = conversation("done").continued(*history.load(name)).resume()
assert history.save(finished, id=name) == name
print([message.result for message in finished.messages if hasattr(message, "result")], finished.text)
history.close()
toolkit.close()
"""
)
_ANSWERED_AT_ONCE = (
    _CONVERSATION
    + _ASK
    + """
decisions = {call.id: Approve({"order_id": 1, "amount": 20.0}) for call in paused.pending}
_, finished = paused.resume(decisions)
print([message.result for message in finished.messages if hasattr(message, "result")], finished.text)
history.close()
toolkit.close()
"""
)


@pytest.mark.security
def test_three_processes_run_one_program_once(tmp_path: Path) -> None:
    for name in ("three", "one"):
        (tmp_path / name).mkdir()
    command = [sys.executable, "-c", _KILLED, str(tmp_path / "three")]
    killed = subprocess.run(command, cwd=ROOT, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    run_script(_APPROVE, str(tmp_path / "three"))
    output = run_script(_SHOP + _RESUME, str(tmp_path / "three"))

    assert output == run_script(_SHOP + _UNINTERRUPTED, str(tmp_path / "one"))
    assert output.endswith("refunded 20.0\n")
    effects = sorted((tmp_path / "three" / "effects").read_text().splitlines())
    assert effects == ["refund 1 20.0", "reserve a", "reserve b"]


@pytest.mark.sampled(every=0)
def test_three_processes_have_one_conversation(tmp_path: Path) -> None:
    for name in ("three", "one"):
        (tmp_path / name).mkdir()
    command = [sys.executable, "-c", _ASKED, str(tmp_path / "three")]
    killed = subprocess.run(command, cwd=ROOT, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    run_script(_APPROVE, str(tmp_path / "three"))
    output = run_script(_ANSWERED, str(tmp_path / "three"))

    assert output == run_script(_ANSWERED_AT_ONCE, str(tmp_path / "one"))
    assert output.endswith("done\n")
    effects = sorted((tmp_path / "three" / "effects").read_text().splitlines())
    assert effects == ["refund 1 20.0", "reserve a", "reserve b"]
