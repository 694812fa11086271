"""Print what tools make of the official JSON-Schema-Test-Suite, whose folder JSON_SCHEMA_TEST_SUITE names."""

import os
import sys
from pathlib import Path

from tests.schema.suite.measure import Measure
from tests.schema.suite.official import cases

if __name__ == "__main__":
    folder = os.environ.get("JSON_SCHEMA_TEST_SUITE")
    if not folder or not (Path(folder) / "tests").is_dir():
        sys.exit("set JSON_SCHEMA_TEST_SUITE to a copy of github.com/json-schema-org/JSON-Schema-Test-Suite")
    measure = Measure().add(cases(Path(folder)))
    sys.stdout.write("\n".join([*measure.lines(), *measure.wrong, ""]))
    sys.exit(bool(measure.wrong))
