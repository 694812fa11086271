"""The control protocol between host and zygote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.sandbox.protocol.both_ends.control import (
    AskExitCode,
    Booted,
    BootFailed,
    ExitCode,
    ForkRefused,
    ForkWorkers,
    Message,
    NewWorker,
    PackagesFailed,
    count_ordered_workers,
    decode,
    encode,
    encode_new_worker,
)

NUMBERS = st.integers(-(1 << 31), 1 << 31)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(Booted, st.dictionaries(st.text(), st.none() | st.booleans() | NUMBERS | st.lists(st.text()))),
    st.builds(PackagesFailed, st.text()),
    st.builds(BootFailed, st.text()),
    st.builds(ForkWorkers, NUMBERS),
    st.builds(AskExitCode, NUMBERS),
    st.builds(NewWorker, NUMBERS),
    st.builds(ForkRefused, st.text()),
    st.builds(ExitCode, NUMBERS, NUMBERS),
)


@given(MESSAGES)
def test_message_survives_its_packet(message: Message) -> None:
    decoded = decode(encode(message))
    assert (type(decoded), decoded) == (type(message), message)


@given(NUMBERS)
def test_new_worker_has_the_usual_packet(pid: int) -> None:
    assert encode_new_worker(pid) == encode(NewWorker(pid))


@given(MESSAGES)
def test_only_orders_of_workers_are_counted(message: Message) -> None:
    expected = message.number if isinstance(message, ForkWorkers) else 0
    assert count_ordered_workers(encode(message)) == expected
    assert count_ordered_workers(b"") == 0


def test_closed_socket_is_no_message() -> None:
    assert decode(b"") is None


@pytest.mark.parametrize("reason", ["cannot be read: [Errno 2] 'a\\\\b'", 'a "quoted" name', "plain"])
def test_boot_file_writes_its_failure_by_hand(reason: str) -> None:
    escaped = reason.replace("\\", "\\\\").replace('"', '\\"')
    assert decode(f'E["{escaped}"]'.encode()) == BootFailed(reason)
