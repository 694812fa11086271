"""Conversations of two principals at once, over every framework that can wait for a person.

A model's server numbers its calls again in every conversation, the two write equal programs, some messages have two
calls, people answer in any order, and answers arrive twice or without what they were about. Whatever happens, an effect
is for the principal whose call was approved, as often as it was approved, and no result is told to the other.

`EZ_PTC_SCENARIOS=200` runs 200 of them; a few run each time.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

from ez_ptc import Context, Toolkit, ez_tool

SEEDS = range(int(os.environ.get("EZ_PTC_SCENARIOS", "6")))
PRINCIPALS = ("ALICE", "BOB")
# As model servers write them: again in every conversation, and in every message of one.
CALL_IDS = (("call_0", "call_1"), ("functions.execute_tools:0", "functions.execute_tools:1"), ("1", "2"))

Call = tuple[str, dict[str, Any], str]
Question = dict[str, Any]
Answers = list[tuple[Question, bool]]

ONE_BY_ONE = """
print(whoami(), buy({0}))
for amount in ({0}, {1}):
    try:
        print(pay(amount))
    except ToolError as error:
        print(whoami(), "no", amount)
"""
AT_ONCE = """
import asyncio
print(whoami())
async def main():
    print(await asyncio.gather(pay_later({0}), pay_later({1}), return_exceptions=True))
await main()
print(buy({0}))
"""


class Conversation(Protocol):
    """One principal's conversation with an agent of a framework."""

    async def say(self, calls: Sequence[Call]) -> None:
        """Let the model make these calls in its next message, and run the agent until it ends or waits."""
        ...

    @property
    def questions(self) -> list[Question]:
        """What waits for an answer."""
        ...

    @property
    def results(self) -> list[str]:
        """What the model has read of its calls."""
        ...

    async def answer(self, answers: Answers) -> None:
        """Answer questions, in this order, and run the agent until it ends or waits."""
        ...

    async def answer_again(self) -> None:
        """Deliver the latest answers again, as a client does that got no response."""
        ...

    async def answer_badly(self, others: list[Question]) -> None:
        """Approve without saying what, or with the answer to another principal's question."""
        ...


Begin = Callable[[list[Any], str], Conversation]
"""Returns a conversation of a principal with an agent that has these tools of the framework."""


@dataclass
class Shop:
    """Tools with effects for the principal in their context."""

    effects: list[tuple[str, str, int]] = field(default_factory=list)

    def tools(self, name_of: Callable[[Any], str]) -> list[Any]:
        """Return the tools."""

        def act(kind: str, amount: int, context: object) -> str:
            name = name_of(context)
            self.effects.append((name, kind, amount))
            return f"{name} {kind} {amount}"

        @ez_tool
        def whoami(user: Context[Any]) -> str:
            """Return the principal."""
            return name_of(user)

        @ez_tool
        def buy(amount: int, user: Context[Any]) -> str:
            """Buy."""
            return act("bought", amount, user)

        @ez_tool(requires_approval=True)
        def pay(amount: int, user: Context[Any]) -> str:
            """Pay."""
            return act("paid", amount, user)

        @ez_tool(requires_approval=True)
        async def pay_later(amount: int, user: Context[Any]) -> str:
            """Pay, while others are paid."""
            return act("paid", amount, user)

        return [whoami, buy, pay, pay_later]


@dataclass
class Scenario:
    """Runs the conversations of one seed, and compares what was done with what was decided."""

    seed: int
    folder: Path
    export: Callable[..., list[Any]]
    begin: Begin
    name_of: Callable[[Any], str] = str
    has_two_calls: bool = True
    effects: list[tuple[str, str, int]] = field(default_factory=list)
    running: dict[str, str] = field(default_factory=dict)
    approved: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    bought: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    async def run(self) -> None:
        """Run it. Raises AssertionError for a crossing."""
        shop = Shop(self.effects)
        with Toolkit(shop.tools(self.name_of), journal=self.folder / f"{self.seed}.db") as toolkit:
            tools = [*self.export(toolkit), *self.export(shop.tools(self.name_of)[2])]
            conversations = {name: self.begin(tools, name) for name in PRINCIPALS}
            ids = self.random.choice(CALL_IDS)
            messages = {name: [self._calls(ids) for _ in range(2)] for name in PRINCIPALS}
            await self._interleave(conversations, messages)
        assert Counter(self.effects) == self.approved + self.bought
        for name, conversation in conversations.items():
            (other,) = {*PRINCIPALS} - {name}
            assert all(other not in text for text in conversation.results), conversation.results

    def _calls(self, ids: Sequence[str]) -> list[tuple[str, Any, str]]:
        amounts = (self.random.randint(1, 2), self.random.randint(1, 2))
        program = self.random.choice((ONE_BY_ONE, AT_ONCE)).format(*amounts)
        calls: list[Call] = [("execute_tools", {"code": program}, ids[0])]
        kind = self.random.choice(("one", "single", "two")) if self.has_two_calls else "one"
        if kind == "single":
            calls = [("pay", {"amount": amounts[0]}, ids[0])]
        elif kind == "two":
            calls.append(("execute_tools", {"code": program}, ids[1]))
        return calls

    async def _interleave(self, conversations: dict[str, Conversation], messages: dict[str, list[list[Call]]]) -> None:
        for _ in range(200):
            busy = [name for name in PRINCIPALS if conversations[name].questions or messages[name]]
            if not busy:
                return
            name = self.random.choice(busy)
            conversation = conversations[name]
            if conversation.questions:
                await self._answer(name, conversations)
            else:
                calls = messages[name].pop()
                for tool, arguments, _ in calls:
                    if tool == "execute_tools":
                        amount = int(arguments["code"].partition("buy(")[2].partition(")")[0])
                        self.bought[name, "bought", amount] += 1
                self.running[name] = calls[0][0]
                await conversation.say(calls)
        message = "the conversations did not end"
        raise AssertionError(message)

    async def _answer(self, name: str, conversations: dict[str, Conversation]) -> None:
        conversation = conversations[name]
        if self.random.random() < 0.2:
            (other,) = {*PRINCIPALS} - {name}
            await conversation.answer_badly(conversations[other].questions)
            # What another answer of the message has approved may run only now.
            assert Counter(effect for effect in self.effects if effect[1] == "paid") <= self.approved
            assert conversation.questions
        answers = [(question, self.random.random() < 0.6) for question in conversation.questions]
        self.random.shuffle(answers)
        for question, is_approved in answers:
            assert question["tool"].startswith("pay")
            assert question["digest"]
            assert str(question["arguments"]["amount"]) in question["question"]
            self.approved[name, "paid", question["arguments"]["amount"]] += is_approved
        await conversation.answer(answers)
        # What keeps no record, as a single call does not, is run once for each answer.
        if self.running[name] == "execute_tools" and self.random.random() < 0.3:
            await conversation.answer_again()
