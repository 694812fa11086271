"""The comparison of our check with ty knows the programs of the tests by their numbers."""

import tomllib
from pathlib import Path

from scripts import check_oracle


def test_every_explained_difference_is_of_a_program() -> None:
    reasons = tomllib.loads(Path(check_oracle.__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    assert reasons.keys() <= {name for name, _, _ in check_oracle.read_programs()}
