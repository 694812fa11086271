"""The session that frameworks use as their code interpreter."""

import threading
from typing import Any

import pytest

from ez_ptc import SandboxError
from ez_ptc.integrations.code_modes.functions import FunctionSession


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
