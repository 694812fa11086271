import pytest

from benchmarks.bfcl.compare import Came, in_state, in_turn
from benchmarks.bfcl.entries import Entry, evenly, load_apis, load_entries, methods, parse_call
from benchmarks.bfcl.oracle import Arrival, Wanted, conform, crosses, same, wanted
from benchmarks.bfcl.program import REFUSED, program
from benchmarks.bfcl.spies import Spies


class Account:
    """A class as the leaderboard has them."""

    def __init__(self) -> None:
        self.balance = 0.0
        self._log: list[str] = []

    def fund(self, amount: float, note: str = "") -> dict[str, float]:
        self._log.append(note)
        self.balance += amount
        return self.show()

    def show(self) -> dict[str, float]:
        return {"balance": self.balance}


FUND = parse_call("fund(amount=5)")
WANTED = Wanted(Arrival("fund", {"amount": 5.0, "note": ""}), {"balance": 5.0})


def came(**changes: object) -> Came:
    """Return what comes of ``FUND`` when all is well, with changes."""
    well: dict[str, object] = {
        "arrivals": [WANTED.arrival],
        "recorded": ["fund"],
        "returned": [WANTED.result],
        "error": None,
    }
    return Came(**(well | changes))  # pyright: ignore[reportArgumentType] - whatever a test wants to have come


def test_ground_truth_call_is_read_as_name_and_literals() -> None:
    call = parse_call("find('.', name='a(b)', sizes=[1, -2.5])")
    assert (call.name, call.args, call.kwargs) == ("find", (".",), {"name": "a(b)", "sizes": [1, -2.5]})


@pytest.mark.parametrize("text", ["1 + 1", "disk.find('.')", "find(name)"])
def test_calls_with_other_than_literals_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"call|malformed"):
        parse_call(text)


@pytest.mark.parametrize(
    ("value", "annotation", "fitting"),
    [
        (3, float, 3.0),
        ([1, 2.5], list[float], [1.0, 2.5]),
        ({"a": 1}, dict[str, float], {"a": 1.0}),
        (3, float | None, 3.0),
        (3, int | float, 3),
        (None, float | None, None),
        ("ticket", int, "ticket"),
        (True, float, True),
    ],
)
def test_int_becomes_float_only_for_float_annotation(value: object, annotation: object, fitting: object) -> None:
    assert same(conform(value, annotation), fitting)


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (1, True), ([1], [1.0]), ({"a": 1}, {"a": 1, "b": 2}), ([1], [1, 2]), ("a", "b")]
)
def test_values_of_another_type_or_content_differ(one: object, other: object) -> None:
    assert not same(one, other)
    assert same(one, one)


def test_only_plain_data_must_cross() -> None:
    assert crosses({"a": [1, 2.5, None, True, "x"]})
    assert not crosses({"a": [1, ...]})


def test_turn_is_a_program_ending_in_its_results() -> None:
    code = program([FUND, parse_call("fund(2, note='x')")])
    assert code == "r0 = fund(amount=5)\nr1 = fund(2, note='x')\n[r0, r1]"


def test_a_guarded_call_does_not_end_the_program() -> None:
    def fund(amount: float) -> None:
        message = f"no {amount}"
        raise TypeError(message)

    names: dict[str, object] = {"fund": fund}
    exec(program([FUND], guarded={0}), names)
    assert names["r0"] == f"{REFUSED}no 5"


def test_direct_call_equals_call_through_sandbox() -> None:
    assert wanted(Account().fund, FUND) == WANTED


def test_expected_turn_has_no_differences() -> None:
    assert list(in_turn([FUND], [WANTED], came())) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"arrivals": [], "returned": [], "error": "boom"}, "no call: boom"),
        ({"returned": [], "error": "boom"}, "no result: boom"),
        ({"arrivals": [Arrival("fund", {"amount": 5, "note": ""})]}, "fund(amount=5, note='')"),
        ({"arrivals": [Arrival("show", {})]}, "show()"),
        ({"arrivals": [WANTED.arrival, Arrival("show", {})]}, "show()"),
        ({"recorded": []}, "records []"),
        ({"returned": [{"balance": 5}]}, "{'balance': 5}"),
        ({"returned": [WANTED.result, None]}, "2 values"),
        ({"returned": [f"{REFUSED}a dict"]}, "'cannot cross: a dict'"),
    ],
)
def test_each_kind_of_difference_is_found_once(changes: dict[str, object], says: str) -> None:
    assert [difference.came for difference in in_turn([FUND], [WANTED], came(**changes))] == [says]


@pytest.mark.parametrize(
    ("returned", "differences"),
    [
        (f"{REFUSED}an ellipsis", 0),
        ([1, ...], 0),
        ([1, "Ellipsis"], 0),
        (f"{REFUSED}a list", 1),
        ([1], 1),
        ([1, "?"], 1),
    ],
)
def test_non_data_result_arrives_equal_as_text_or_is_refused(returned: object, differences: int) -> None:
    truth = Wanted(WANTED.arrival, [1, ...])
    assert len(list(in_turn([FUND], [truth], came(returned=[returned])))) == differences


def test_public_state_is_compared() -> None:
    one, other = Account(), Account()
    other.fund(1)
    found = list(in_state({"Account": one}, {"Account": other}))
    assert [(difference.call, difference.came) for difference in found] == [("state of Account.balance", "1.0")]


def test_listening_class_records_calls_from_outside() -> None:
    spies = Spies()
    account = spies.listening(Account)()
    assert methods({"Account": account})["fund"](5.0) == {"balance": 5.0}
    assert spies.take() == [WANTED.arrival]
    assert spies.take() == []


def test_few_entries_are_spread_over_all() -> None:
    entries = [Entry(str(index), (), {}, ()) for index in range(10)]
    assert [entry.id for entry in evenly(entries, 3)] == ["0", "3", "6"]
    assert evenly(entries, None) == evenly(entries, 99) == entries


@pytest.mark.security
def test_packaged_entries_run_in_sandbox_without_difference() -> None:
    pytest.importorskip("bfcl_eval", reason="bfcl-eval is not installed; make bench-bfcl installs it")
    from benchmarks.bfcl.run import Runner

    entries = evenly(load_entries(), 8)
    runner = Runner(load_apis(entries))
    assert [mismatch for entry in entries for mismatch in runner.run(entry)] == []
    assert runner.report.calls == sum(len(turn) for entry in entries for turn in entry.turns) > 0
