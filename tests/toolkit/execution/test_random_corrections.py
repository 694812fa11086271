"""Random programs that fail somewhere, and corrections of them: effects are those of one program that did not fail."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import ExecutionResult, Tool, Toolkit, ez_tool

pytestmark = [pytest.mark.security, pytest.mark.hypothesis]

Value = int | float | bool | str

Shape = Literal["lines", "loop", "parallel", "threads"]

values: st.SearchStrategy[Value] = st.sampled_from([0, 1, 1.0, True, "1", "a"])
calls = st.tuples(st.sampled_from(["take", "put"]), values, st.booleans())
programs = st.lists(calls, max_size=8)
shapes: st.SearchStrategy[Shape] = st.sampled_from(["lines", "loop", "parallel", "threads"])


@dataclass
class Counted:
    """Two tools that count their calls with the same value."""

    made: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def tools(self) -> list[Tool[..., Any]]:
        return [self._tool("take"), self._tool("put")]

    def _tool(self, name: str) -> Tool[..., Any]:
        def count(value: Any, note: str = "") -> str:  # noqa: ANN401 - of any type
            """Count."""
            key = name, repr((value, note))
            self.made[key] += 1
            return f"{name} {key[1]}"

        return ez_tool(name=name)(count)


def write(steps: list[tuple[str, Value, bool]], shape: Shape) -> str:
    """Return a program that makes calls, in some way, and prints their sorted results."""
    pairs = ", ".join(f"({name}, ({value!r}{', chr(120)' if is_noted else ''},))" for name, value, is_noted in steps)
    head = f"calls = [{pairs}]\n"
    if shape == "lines":
        lines = [f"results.append({name}({value!r}{', note=chr(120)' if n else ''}))" for name, value, n in steps]
        return "\n".join(["results = []", *lines, "print(*sorted(results), sep='|')"])
    if shape == "loop":
        body = "results = [call(*args) for call, args in calls]\n"
    elif shape == "parallel":
        body = "results = parallel(*[(call, *args) for call, args in calls]) if calls else []\n"
    else:
        body = (
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(4) as pool: results = list(pool.map(lambda c: c[0](*c[1]), calls))\n"
        )
    return f"{head}{body}print(*sorted(results), sep='|')"


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journal") / "runs.db"


@given(
    st.lists(st.tuples(programs, shapes), min_size=1, max_size=3), programs, shapes, st.booleans(), st.integers(0, 2)
)
def test_effects_equal_those_of_one_program(
    journal: Path,
    failures: list[tuple[list[tuple[str, Value, bool]], Shape]],
    last: list[tuple[str, Value, bool]],
    shape: Shape,
    is_recorded: bool,
    repeated: int,
) -> None:
    counted = Counted()
    options: dict[str, Any] = {"journal": journal} if is_recorded else {}
    wanted: Counter[tuple[str, str]] = Counter()
    with Toolkit(counted.tools(), **options) as toolkit:
        failed: ExecutionResult | None = None
        for steps, kind in failures:
            failed = toolkit.execute(f"{write(steps, kind)}\n1 / 0", after=failed)
            assert str(failed.error).startswith("ZeroDivisionError"), failed.error
            wanted |= _counts(steps)
        # A correction that makes the calls of the first failure again, some of them more often, and others.
        correction = [*failures[0][0], *failures[0][0][:repeated], *last]
        result = toolkit.execute(write(correction, shape), after=failed)
    assert result.success, result.error
    wanted |= _counts(correction)
    assert counted.made == wanted  # nothing twice, unless a program asks for it more often than all before
    alone = Counted()
    with Toolkit(alone.tools()) as toolkit:
        assert result.output == toolkit.execute(write(correction, shape)).output


def _counts(steps: list[tuple[str, Value, bool]]) -> Counter[tuple[str, str]]:
    return Counter((name, repr((value, "x" if is_noted else ""))) for name, value, is_noted in steps)
