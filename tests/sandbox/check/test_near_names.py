"""Which names are spelt like another, and which only by a slip."""

from __future__ import annotations

import pytest

from ez_ptc.sandbox.check.near_names import is_slip


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("listPeople", "list_people"),
        ("list_peple", "list_people"),
        ("list_peopel", "list_people"),
        ("claimss", "claims"),
        ("mines", "mine"),
    ],
)
def test_slip_changes_one_letter_or_the_case(name: str, meant: str) -> None:
    assert is_slip(name, meant)
    assert is_slip(meant, name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("inactive", "active"),
        ("invalid_ids", "valid_ids"),
        ("list_atypical", "list_typical"),
        ("atypical", "typical"),
        ("claim_2", "claim_1"),
        ("claims2", "claims"),
        ("minimum_balance", "maximum_balance"),
        ("sent_claims", "send_claims"),
        ("unpaid", "paid"),
    ],
)
def test_name_that_means_another_thing_is_no_slip(name: str, meant: str) -> None:
    assert not is_slip(name, meant)
    assert not is_slip(meant, name)
