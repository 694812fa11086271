"""Server processes that are hard to talk to, and hard to end."""

import asyncio
import os
import select
import signal
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import anyio
import mcp_types as types
import pytest
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from ez_ptc import McpServerError, Toolkit, mcp_tools
from ez_ptc.mcp.client.dropped_tools import DroppedTools
from ez_ptc.mcp.client.servers import ServerAddress
from ez_ptc.mcp.client.transports import pipes, processes
from ez_ptc.mcp.client.transports.processes import ServerProcess
from ez_ptc.mcp.client.transports.watch import ConnectionWatch
from ez_ptc.redaction.redactor import Redactor

Command = Callable[[str], list[str]]


def test_endless_message_ends_its_server(raw_server: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "MAX_MESSAGE_BYTES", 2**20)
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        result = toolkit.execute("huge()")
        again = toolkit.execute("print(echo('a'))")

    assert "it sent a message of more than 1 MiB" in (result.error or "")
    assert again.output == "a\n"


@pytest.mark.parametrize("server", ["stubborn", "plain"])
def test_children_of_a_server_end_with_it(server: str, raw_server: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_EXIT_SECONDS", 0.2)
    with mcp_tools(raw_server(server)) as tools:
        child = os.pidfd_open(cast("dict[str, int]", tools["child"].execute().output)["pid"])
    try:
        ended, _, _ = select.select([child], [], [], 20)
    finally:
        os.close(child)

    assert ended


def test_unused_server_is_ended_without_waiting_for_its_daemons(tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    program = (
        "import subprocess, sys, time\n"
        "daemon = subprocess.Popen(['sleep', '5'], start_new_session=True)\n"
        "open(sys.argv[1], 'w').write(str(daemon.pid))\n"
        "time.sleep(60)\n"
    )

    async def start_and_discard() -> int:
        process = ServerProcess(ServerAddress("daemon", command=(sys.executable, "-c", program, str(started))))
        process.start()
        daemon = os.pidfd_open(int(await asyncio.to_thread(started.read_text)))
        await process.discard()
        return daemon

    daemon = asyncio.run(start_and_discard())
    try:
        assert select.select([daemon], [], [], 0)[0] == []  # it still runs
        signal.pidfd_send_signal(daemon, signal.SIGKILL)
    finally:
        os.close(daemon)


def test_argument_that_is_no_text_is_refused_without_harm(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        result = toolkit.execute("echo('\\ud800')")
        again = toolkit.execute("print(echo('a'))")

    assert "echo: the arguments cannot be sent" in (result.error or "")
    assert again.output == "a\n"


def test_large_messages_cross_in_both_directions(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        result = toolkit.execute("print(len(echo('ä' * 1_000_000)))")

    assert result.output == "1000000\n"


@pytest.mark.sampled(every=0)
def test_flood_of_notifications_does_not_drown_answers(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("chatty")) as toolkit:
        assert toolkit.execute("print([echo(str(n)) for n in range(3)])").output == "['0', '1', '2']\n"


def test_server_that_takes_no_more_can_still_say_why(tmp_path: Path) -> None:
    may_end = tmp_path / "may_end"
    os.mkfifo(may_end)
    program = "import os, sys; os.close(0); open(sys.argv[1]).read(); print('usage: serve KEY', end='')"
    watch = ConnectionWatch(DroppedTools("shop"), Redactor())

    async def send() -> None:
        process = ServerProcess(ServerAddress("shop", command=(sys.executable, "-c", program, str(may_end))))
        async with pipes.open_process(process, watch) as (_, output):
            await cast("Any", output).ended.wait()
            notification = SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"))
            sending = asyncio.ensure_future(output.send(notification))
            await asyncio.to_thread(may_end.write_text, "now")
            with pytest.raises(anyio.BrokenResourceError):
                await sending
            assert "it wrote 'usage: serve KEY'" in watch.explain()

    asyncio.run(send())


def test_servers_get_the_environment_that_the_sdk_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "() { :; }")
    assert processes.inherited_environment() == get_default_environment()


def test_endless_line_of_a_servers_errors_is_not_kept() -> None:
    program = "import sys\nfor _ in range(32):\n    sys.stderr.write('x' * 2**20)\nsys.exit(1)"
    with pytest.raises(McpServerError):
        mcp_tools([sys.executable, "-c", ""])  # imports what it needs
    tracemalloc.start()
    try:
        with pytest.raises(McpServerError, match="it ended before it answered"):
            mcp_tools([sys.executable, "-c", program])
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
