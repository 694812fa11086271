"""The name and version of this package where packages are installed, and a warning about another author's `ez-ptc`.

The package index has a distribution `ez-ptc` by another author, which installs a package `ez_ptc` too.
"""

import os
import sys

__all__ = ["DISTRIBUTION", "VERSION", "warn_about_namesake"]

DISTRIBUTION = "ez-ptc-py"
VERSION = "1.0.0a1"
_NAMESAKE = "ez-ptc"


def warn_about_namesake() -> None:
    """Warn the importer of `ez_ptc` if the other author's distribution is installed as well."""
    namesake = _find_namesake()
    if namesake is not None:
        import warnings

        message = (
            f"{namesake}: {_NAMESAKE} is another author's distribution, with the import name of {DISTRIBUTION}; files "
            f"of the two may be mixed. Uninstall both (pip uninstall {_NAMESAKE} {DISTRIBUTION}), then install "
            f"{DISTRIBUTION} again"
        )
        warnings.warn(message, RuntimeWarning, stacklevel=3)  # the line that imports us


def _find_namesake() -> str | None:
    """Return the path of the other distribution's metadata, or None."""
    # Only the names of folders are read: to import `importlib.metadata` takes longer than to import this package.
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or os.curdir)  # noqa: PTH208 - pathlib is slow to import
        except (OSError, TypeError):  # an archive, or something that the import system ignores
            continue
        for name in names:
            if name.endswith("-info") and _is_namesake(name):
                path = os.path.join(folder, name)  # noqa: PTH118 - as above
                if _may_have_our_files(path):
                    return path
    return None


def _is_namesake(name: str) -> bool:
    """Return whether a folder such as `ez_ptc-0.4.0.dist-info` is of the distribution `ez-ptc`."""
    stem, _, suffix = name.lower().rpartition(".")
    if suffix not in ("dist-info", "egg-info"):
        return False
    name = stem.replace("_", "-").replace(".", "-")
    return name == _NAMESAKE or (name.startswith(f"{_NAMESAKE}-") and name[len(_NAMESAKE) + 1].isdigit())


def _may_have_our_files(metadata: str) -> bool:
    """Return whether a distribution has files in a package `ez_ptc`, or does not say which it has."""
    try:
        with open(f"{metadata}/RECORD", encoding="utf-8", errors="replace") as record:  # noqa: PTH123 - as above
            return any(line.startswith("ez_ptc/") for line in record)
    except OSError:
        return True
