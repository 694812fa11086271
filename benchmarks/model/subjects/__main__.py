"""``python -m benchmarks.model.subjects``: a line for each subject that needs an environment, and its package."""

from benchmarks.model.subjects import SUBJECTS

__all__: list[str] = []

for name, package in SUBJECTS.items():
    if package:
        print(name, package)
