"""What an agent framework is offered: a tool, or a toolkit as the one tool that runs programs.

A framework's module describes an offer in the framework's terms and calls it. Checking, approval, context and the
durable pauses of programs are the same for all of them, and are here: `tools` and `programs` are what is offered,
`hooks` the framework's part in a call, and `answers` what passes between a question and its answer.
"""

from ez_ptc.integrations.offers.answers import answer, describe_call, find_decisions, find_problem
from ez_ptc.integrations.offers.hooks import NO_HOOKS, Hooks, OpenCalls, Outcome, call_id_of, context_of, pending_text
from ez_ptc.integrations.offers.offers import Offer, offers_of, tool_of
from ez_ptc.integrations.offers.programs import ProgramOffer, SentProgram
from ez_ptc.integrations.offers.tools import ToolOffer

__all__ = [
    "NO_HOOKS",
    "Hooks",
    "Offer",
    "OpenCalls",
    "Outcome",
    "ProgramOffer",
    "SentProgram",
    "ToolOffer",
    "answer",
    "call_id_of",
    "context_of",
    "describe_call",
    "find_decisions",
    "find_problem",
    "offers_of",
    "pending_text",
    "tool_of",
]
