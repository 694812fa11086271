"""The address of a journal on a server, before anything is connected."""

from __future__ import annotations

import pytest

from ez_ptc import Journal, JournalError
from ez_ptc.journal.stores.postgres.address import Address

_URLS = {
    "postgresql://ann:s3cret@db:5433/shop": "postgresql://ann@db:5433/shop",
    "postgres://db/shop?password=s3cret&sslmode=require": "postgresql://db/shop",
    "postgresql://ann:s3%40cret@one,two/shop?target_session_attrs=read-write": "postgresql://ann@one,two/shop",
    "postgresql://ann:s3cret@db/shop?options=-csearch_path%3Dtenant": (
        "postgresql://ann@db/shop?options=-csearch_path%3Dtenant"
    ),
}
# libpq would read a part of the password as the host or the port of these, and say so.
_MISREAD = [
    "postgresql://ann:s3@cret@db/shop",
    "postgresql://ann:s3/cret@db/shop",
    "postgresql://ann:s3?cret@db/shop",
    "postgresql://ann:s3%cret@db/shop",
    "postgresql://ann:s3cret@db:port?unknown=s3cret",
]


def test_address_is_shown_without_its_password() -> None:
    for url, name in _URLS.items():
        with Journal(url) as journal:
            assert (journal.name, repr(journal)) == (name, f"Journal({name!r})")
        address = Address.parse(url)
        assert "cret" not in repr(address)
        assert address.scrub("FATAL: s3cret\nfor s3@cret").count("***") == 1


def test_misread_address_is_refused_without_its_text() -> None:
    for url in _MISREAD:
        with pytest.raises(JournalError, match="expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE") as caught:
            Journal(url)
        assert "cret" not in repr(caught.value)
        assert caught.value.__cause__ is None
