from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.journal.chain import Event, chain_start, event_hash

_EVENTS = st.builds(
    Event,
    st.sampled_from(["start", "intent", "result"]),
    st.text("123.", max_size=5),
    st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2),
    st.none() | st.binary(max_size=5),
    st.floats(0, 2e9),
    st.integers(1, 1000),
)


def _hash(event: Event, previous: bytes = chain_start("run")) -> bytes:
    payload = b"" if event.payload is None else b"p" + event.payload
    head = (event.position, event.kind, event.path, event.time)
    return event_hash(previous, head, event.data_bytes(), payload)


@given(_EVENTS, _EVENTS)
def test_different_events_have_different_hashes(first: Event, second: Event) -> None:
    assert (_hash(first) == _hash(second)) == (repr(first) == repr(second))


@given(_EVENTS)
def test_hash_depends_on_every_field_and_predecessor(event: Event) -> None:
    changes: list[dict[str, Any]] = [
        {"kind": "end"},
        {"path": event.path + "9"},
        {"data": {**event.data, "other": 1}},
        {"payload": (event.payload or b"") + b"x"},
        {"time": event.time + 1},
        {"position": event.position + 1},
    ]
    hashes = {
        _hash(event),
        _hash(event, chain_start("other")),
        *(_hash(event._replace(**change)) for change in changes),
    }
    assert len(hashes) == 8
