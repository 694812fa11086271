"""``python -m benchmarks.tokens.subjects``: the name and the packages of each environment, for the Makefile."""

import sys

from benchmarks.tokens.subjects import SUBJECTS

sys.stdout.writelines(f"{name} {packages}\n" for name, packages in SUBJECTS.items())
