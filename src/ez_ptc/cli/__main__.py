"""`python -m ez_ptc.cli`: the command `ez-ptc` of a certain interpreter."""

from ez_ptc.cli.app import main

__all__: list[str] = []

if __name__ == "__main__":
    raise SystemExit(main())
