"""``python -m benchmarks.check``: the cost of checking a program before it runs, in milliseconds of CPU time.

Measured as a worker does it, without parsing the program: on the programs of `benchmarks/model`, right and with one
mistake; by lines, by tools, and on programs that are costly to follow. Each figure is the least of some rounds.
"""

from statistics import mean
from time import thread_time_ns
from typing import Final

from benchmarks.model.tasks import TASKS
from benchmarks.model.worlds import many
from ez_ptc import Tool, Toolkit
from ez_ptc.sandbox.check.check import find_mistakes
from ez_ptc.sandbox.check.mistakes import parse_quietly
from ez_ptc.sandbox.check.proposals import describe_mistakes
from ez_ptc.sandbox.check.signatures import Described, Shapes
from ez_ptc.sandbox.protocol.tool_types import describe_types

__all__ = ["cost_of", "described", "main"]

_ROUNDS: Final = 5
_NAMES: Final = frozenset({"asyncio", "json", "math", "parallel", "re"})
_MISTAKE: Final = "\nprint(list_students()[0]['nmae'])"
_LOOP: Final = "for s in list_students():\n    if s.student_id > 3:\n        print(s.name, s.student_id * 2)\n"
_COSTLY: Final = {
    "slips among 700 names": "".join(f"nm{n} = {n}\n" for n in range(700)) + "".join(f"nmx{n}\n" for n in range(49)),
    "a chain of attributes": "x = list_students()\nx" + ".nope" * 2_000,
    "nested loops": "".join(f"{'    ' * n}for i{n} in range(3):\n" for n in range(18))
    + "    " * 18
    + "list_students()",
    "functions that call twice": "def f0(x):\n    return list_students()\n"
    + "".join(f"def f{n}(x):\n    f{n - 1}(x)\n    return f{n - 1}([x])\n" for n in range(1, 60))
    + "f59(1)",
    "dicts of dicts": "d = {}\n" + "d = {'k': d, 'j': [d, {**d}]}\n" * 300 + "list_students()",
    "300 mistakes": "print(list_students()[0]['heft'])\n" * 300,
    "a sum of 2,000 ones": f"list_students()\nprint({' + '.join(['1'] * 2_000)})",
}


def described(count: int) -> dict[str, Described]:
    """Return the descriptions of that many tools, as a worker gets them."""
    with Toolkit([Tool.from_function(function) for function in many(count)]) as toolkit:
        return {
            tool.name: (tool.signature, describe_types(tool.name, tool.signature, tool.return_type_text or ""), True)
            for tool in toolkit.tools
        }


def cost_of(program: str, tools: dict[str, Described], rounds: int = _ROUNDS) -> float:
    """Return the milliseconds that the check of a program takes, with its report if there is a mistake."""
    tree = parse_quietly(program)
    costs: list[int] = []
    for _ in range(rounds):
        start = thread_time_ns()
        shapes = Shapes(tools)
        mistakes = find_mistakes(tree, shapes, _NAMES)
        if mistakes:
            describe_mistakes(mistakes, program, shapes, _NAMES)
        costs.append(thread_time_ns() - start)
    return min(costs) / 1e6


def main() -> None:
    """Measure, and print."""
    tools, large = described(16), described(300)
    print("Check of a program before it runs, ms of CPU time")
    right = [cost_of(task.program, tools) for task in TASKS]
    wrong = [cost_of(task.program + _MISTAKE, tools) for task in TASKS]
    print(f"{len(right)} right programs     mean {mean(right):6.2f}   worst {max(right):6.2f}   (aim: mean 1.00)")
    print(f"{len(wrong)} with a mistake      mean {mean(wrong):6.2f}   worst {max(wrong):6.2f}")
    by_lines = {lines: cost_of(_LOOP * (lines // 3), tools) for lines in (3, 15, 60, 120)}
    _row("by lines, 16 tools", by_lines)
    _row("by tools, 15 lines", {count: cost_of(_LOOP * 5, described(count)) for count in (16, 50, 300)})
    _row("by tools, a mistake", {count: cost_of(_LOOP * 5 + _MISTAKE, described(count)) for count in (16, 50, 300)})
    worst = {name: cost_of(program, large) for name, program in _COSTLY.items()}
    name = max(worst, key=worst.__getitem__)
    print(f"costly programs, 300 tools   worst {worst[name]:.2f}: {name}   (aim: 20)")


def _row(title: str, costs: dict[int, float]) -> None:
    print(f"{title:22} {'   '.join(f'{number}: {cost:.2f}' for number, cost in costs.items())}")


if __name__ == "__main__":
    main()
