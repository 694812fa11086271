"""How the calls of one run are recorded, and may be repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.journal.arguments.sealing import Seal

__all__ = ["CallRules", "Policy"]

Policy = Literal["once", "idempotent", "reader"]
"""Whether a call may be repeated: never without a person's word, with the same key, or freely."""


class CallRules(NamedTuple):
    """The policy of each tool of a run, by name, and the seal of its secret arguments."""

    policies: Mapping[str, Policy]
    seal: Seal
