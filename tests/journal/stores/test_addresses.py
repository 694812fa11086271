"""The address of a journal on a server, before anything is connected."""

from __future__ import annotations

from pathlib import Path

import pytest

from ez_ptc import Journal, JournalError
from ez_ptc.cli.app import main
from ez_ptc.journal.stores.addresses import require_file_name
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
    "postgresql://ann:s3cret",
    "postgresql://ann:s3cret/shop",
    "postgresql://ann:s3cret@db:s3cret/shop",
    "postgresql://ann@one,two:s3cret/shop?port=1,s3cret",
]
# Files' names to look at; they would be shown whole.
_OTHER_FORMS = {
    "postgresql+psycopg://ann:s3cret@db/shop": "postgresql+psycopg:",
    "POSTGRESQL://ann:s3cret@db/shop": "POSTGRESQL:",
    " postgresql://ann:s3cret@db/shop": "postgresql:",
    "\ufeff'postgresql://ann:s3cret@db/shop'": "postgresql:",
    "postgresql:/ann:s3cret@db/shop": "postgresql:",
    "postgres:ann:s3cret@db": "postgres:",
    "jdbc:postgresql://db/shop?password=s3cret": "another form",
    "mysql://ann:s3cret@db/shop": "mysql:",
    "host=db user=ann password = s3cret": "another form",
}


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


def test_other_addresses_are_no_names_of_files(capsys: pytest.CaptureFixture[str]) -> None:
    for url, scheme in _OTHER_FORMS.items():
        for path in (url, Path(url)):
            with pytest.raises(JournalError, match="expected the path of a file or postgresql://") as caught:
                Journal(path)
            assert scheme in str(caught.value)
            assert "cret" not in repr(caught.value)
        assert main(["runs", "list", "--journal", url]) != 0
    assert "cret" not in "".join(capsys.readouterr())
    for name in ("runs.db", "./a:b/runs.db", "2026-11-28 10:30.db", "C:/runs.db", "password.db"):
        require_file_name(Path(name))
