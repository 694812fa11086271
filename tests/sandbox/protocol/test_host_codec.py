"""The host's fast codec and the one that both ends share are one host_codec."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.values import codec as values
from tests.sandbox.alike import alike
from tests.sandbox.scripts import run_script

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda items: st.lists(items, max_size=5) | st.dictionaries(ANY_TEXT, items, max_size=5),
    max_leaves=30,
)
# Near to JSON, so that many are.
PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', "\\", "\\u00", "d800", "a", "true", "null", "NaN", "-", "Infinity", "0", "1",
     "e5", ".5", "E400", "9" * 30, " ", "\n", "\0", '"$"', "é", "\ud800"]
)  # fmt: skip


def read(text: bytes, how: str) -> tuple[str, object]:
    try:
        return "read", (host_codec if how == "host" else values).loads(text)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        return "refused", None


@given(TREES)
@example([float("nan"), -0.0, 5e-324, 2**9999, -(2**64), "\x7f\u2028", "\ud800"])
def test_frames_of_host_are_read_unchanged(tree: object) -> None:
    assert alike(values.loads(host_codec.dumps(values.encode(tree))), tree)


@given(TREES)
def test_frames_of_worker_are_read_unchanged(tree: object) -> None:
    assert alike(host_codec.loads(json.dumps(values.encode(tree)).encode()), tree)


@given(st.lists(PIECES, max_size=12).map("".join))
@example('{"a":1,"a":2}')
@example("1e400")
@example("-NaN")
@example("01")
@example('"\\ud83d\\ude00"')
@example("[" * 300 + "]" * 300)
def test_both_codecs_read_and_refuse_the_same(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    host, shared = read(data, "host"), read(data, "shared")
    assert host[0] == shared[0]
    assert alike(host[1], shared[1])


def nested(texts: list[str], levels: int) -> bytes:
    """Return so many levels around a tuple, with the texts between them, in turn."""
    opening, closing = "", ""
    for number in range(levels):
        text = json.dumps(texts[number % len(texts)], ensure_ascii=number % 3 == 0)
        opening += f"[{text},[]," if number % 2 else f"{{{text}:"
        closing += "]" if number % 2 else "}"
    return f'{opening}{{"$":["t",[]]}}{closing[::-1]}'.encode("utf-8", "surrogatepass")


@given(st.lists(ANY_TEXT.filter(lambda text: text != values.MARK), min_size=1, max_size=3), st.sampled_from([380, 500]))
@example(["]]]]"], 500)
@example(["[[[["], 380)
@example(['\\"]', "\\", '"'], 500)
@example(['"[', '\\\\"['], 380)
def test_no_text_hides_or_feigns_deep_nesting(texts: list[str], levels: int) -> None:
    data = nested(texts, levels)
    if levels < 400:
        assert alike(host_codec.loads(data), values.loads(data))
    else:
        with pytest.raises(RecursionError, match="too deeply"):
            host_codec.loads(data)


@pytest.mark.parametrize("text", ["", '"]",', '"[",', '"\\\\",', '"\\"[",', '"\\\\\\"]",'])
def test_depth_of_any_text_is_limited_exactly(text: str) -> None:
    """By the deepest value of honest workers, and the levels that the quick measurement may miss."""
    most = 4 * (values.MAX_DEPTH + 8) + 2
    deepest = ("[" + text) * most + "0" + "]" * most
    assert isinstance(host_codec.loads(deepest.encode()), list)
    with pytest.raises(RecursionError, match="too deeply"):
        host_codec.loads(f"[{text}{deepest}]".encode())


def test_more_strings_than_can_be_inspected_are_too_deep() -> None:
    with pytest.raises(RecursionError, match="too deeply"):
        host_codec.loads(b'[{"$":["t",[]]}' + b',"[",[]' * 1_000_001 + b"]")


LITTLE_STACK = """
import sys, threading
from ez_ptc.errors import ProtocolError
from ez_ptc.sandbox.protocol.frames import parse

sys.setrecursionlimit(1_000_000)  # what a host may do, and what newer CPythons do by themselves
threading.stack_size(256 << 10)

def read(body):
    try:
        parse(body)
    except ProtocolError:
        print("refused")

for body in (b"[", b'{"a":', b'[{"$":', b'["\\\\",[', b'["]",['):
    thread = threading.Thread(target=read, args=(body * 100_000,))
    thread.start()
    thread.join()
"""


def test_deep_nesting_spares_hosts_with_small_stacks() -> None:
    """As where the C library is musl; json's parser would go as deep as the recursion limit says."""
    assert run_script(LITTLE_STACK).split() == ["refused"] * 5


@given(st.binary(max_size=20))
def test_both_codecs_read_and_refuse_the_same_bytes(data: bytes) -> None:
    assert alike(read(data, "host"), read(data, "shared"))


@pytest.mark.parametrize(
    "number",
    [10**150_000, -(10**150_000), Decimal("1e-150000"), Decimal("9" * 150_000)],
    ids=["int", "below", "tiny", "long"],
)
def test_a_long_number_crosses_once_but_not_twice(number: int | Decimal) -> None:
    """What is done with numbers may take the square of their length."""
    assert values.loads(values.dumps(values.encode(number))) == number
    with pytest.raises(values.CannotCrossError, match="too many digits"):
        values.encode([number, number])
    forged = [values.encode(number), values.encode(number)]
    with pytest.raises(ValueError, match="too many digits"):
        host_codec.loads(values.dumps(forged))


def test_forged_fraction_crosses_once_but_not_twice() -> None:
    """Its two numbers are divided, and no honest worker sends one with a common divisor."""
    fraction = {"$": ["fr", f"{'6' * 15_000}/{'3' * 15_000}"]}
    assert host_codec.loads(values.dumps([fraction])) == [2]
    with pytest.raises(ValueError, match="too many digits"):
        host_codec.loads(values.dumps([fraction] * 2))


@pytest.mark.parametrize("payload", ["eA==\n", "e A==", "eA==eA==", "-_==", "é"])
def test_forged_bytes_are_base64_and_nothing_else(payload: str) -> None:
    with pytest.raises(ValueError, match=r"base64|ascii|padding|characters"):
        host_codec.loads(values.dumps({"$": ["b", payload]}))


@pytest.mark.parametrize("number", [1, 31, 32, 100])
def test_depth_of_many_values_is_limited_as_that_of_one(number: int) -> None:
    value: object = 1
    for _ in range(values.MAX_DEPTH - 1):
        value = [value]
    assert values.encode([[value] * number]) == [[value] * number]
    with pytest.raises(values.CannotCrossError, match="nested deeper than 100"):
        values.encode([[[value]] * number])
