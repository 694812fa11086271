"""Imported by each interpreter of a test with EZ_PTC_TEST_POSTGRES."""

import os
import sys

if "EZ_PTC_TEST_POSTGRES" in os.environ and sys.argv[:1] != ["-m"]:
    from tests.journal.stores.substitute import substitute_files

    substitute_files()
