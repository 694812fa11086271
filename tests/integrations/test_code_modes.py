"""The session that frameworks use as their code interpreter."""

import re
import threading
from typing import Any

import pytest

from ez_ptc import SandboxError
from ez_ptc.integrations.code_modes.functions import FunctionSession, describe_failure, describe_output, describe_value


def test_program_never_gets_the_functions_of_another_caller() -> None:
    session = FunctionSession({})
    has_begun, may_end = threading.Event(), threading.Event()

    def wait() -> str:
        has_begun.set()
        assert may_end.wait(30)
        return "ALICE"

    results: list[Any] = []
    first = threading.Thread(
        target=lambda: results.append(
            session.execute("print(whoami(), whoami(), me)", {"whoami": wait}, {"me": "ALICE"})
        )
    )
    first.start()
    try:
        assert has_begun.wait(30)
        with pytest.raises(SandboxError, match="running a program: give each agent and each request a session"):
            session.execute("print(whoami(), me)", {"whoami": lambda: "BOB"}, {"me": "BOB"})
    finally:
        may_end.set()
        first.join(30)
    assert results[0].output == "ALICE ALICE ALICE\n"
    assert session.execute("print(whoami(), me)", {"whoami": lambda: "BOB"}, {"me": "BOB"}).output == "BOB BOB\n"
    session.close()


def test_function_that_runs_a_program_in_its_own_session_gets_an_error() -> None:
    session = FunctionSession({})

    def again() -> object:
        return session.execute("1", {}, {}).return_value

    result = session.execute("again()", {"again": again}, {})
    assert "running a program" in str(result.error)
    session.close()


LONG = {
    "print('x' * 500_000)": 500001,
    "'x' * 500_000": 500000,
    "['row'] * 20_000": 20000,
    "print('x' * 500_000)\n1 / 0": 500001,
    "raise ValueError('x' * 500_000)": None,
}


@pytest.mark.parametrize("code", LONG)
def test_texts_for_the_agent_are_bounded_and_read_by_the_next_program(code: str) -> None:
    session = FunctionSession({})
    result = session.execute(code, {}, {})
    texts = [describe_output(result), describe_failure(result), str(describe_value(result))]
    assert max(map(len, texts)) <= 30_000
    names = {name for text in texts for name in re.findall(r'results\["(r\d+)"\]', text)}
    lengths = [session.execute(f"len(results[{name!r}])", {}, {}).return_value for name in sorted(names)]
    assert LONG[code] is None or LONG[code] in lengths
    session.close()


def test_short_results_stay_as_they_are() -> None:
    session = FunctionSession({})
    result = session.execute("print('tea')\n[1, {'a': None}]", {}, {})
    assert (describe_output(result), describe_value(result)) == ("tea\n", [1, {"a": None}])
    assert describe_output(session.execute("1", {}, {})) == ""
    session.close()
