"""Try packages as programs import them; print the table of the documentation, and exit with 1 if one is otherwise."""

from __future__ import annotations

import argparse
import sys

from ez_ptc import SandboxError

from .catalog import CATALOG, Package
from .running import difference, run
from .table import PAGE, replace_rows, row


def try_package(package: Package) -> tuple[str, str]:
    """Return the package's line of the table, and what is otherwise than the catalog says."""
    # Once before, for what is compiled only once.
    run(package)
    result, cost = run(package)
    return row(package, cost), difference(package, result)


def main() -> int:
    """Try all packages."""
    parser = argparse.ArgumentParser(prog="python -m tests.packages", description=__doc__)
    parser.add_argument("--releases", action="store_true", help="print what is to be installed, and try nothing")
    parser.add_argument("--write", action="store_true", help="write the table into the documentation")
    arguments = parser.parse_args()
    if arguments.releases:
        print("\n".join(package.release for package in CATALOG))
        return 0
    rows: list[str] = []
    is_otherwise = False
    for package in CATALOG:
        try:
            line, problem = try_package(package)
        except SandboxError as error:
            line, problem = "", str(error)
        rows.append(line)
        print(line, f"OTHERWISE: {problem}" if problem else "", flush=True)
        is_otherwise = is_otherwise or bool(problem)
    if arguments.write and not is_otherwise:
        PAGE.write_text(replace_rows(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    return 1 if is_otherwise else 0


if __name__ == "__main__":
    sys.exit(main())
