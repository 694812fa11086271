"""`ez-ptc runs export --pytest`: a run as a test, which replays it without calling a tool."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING, Final

from ez_ptc._distribution import VERSION
from ez_ptc.cli.run import CommandError
from ez_ptc.cli.runs.opening import find_run_id, open_journal, write_file

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_test"]

_TEMPLATE: Final = '''"""A run of {date}, replayed from its record: no tool is called, and nothing is sent.

Written by `ez-ptc runs export --pytest` of ez-ptc {version}. The values of secret arguments are left out.
It fails if the program ends otherwise than it did, or if the schema of one of its tools is another. It was recorded
with {python}; other versions of Python, from 3.11 on, make the same calls and the same output.
"""

from pathlib import Path

from ez_ptc import Journal

from {module} import {name}

RECORD = (
{record}
)
OUTPUT = {output}


def test_run_{id}(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        run_id = journal.load(RECORD)
        result = journal.replay(run_id, {name}, upgrade=True)
    assert result.output == OUTPUT
'''
_MAX_ID: Final = 12
_PYTHON: Final = re.compile(r"[A-Za-z]{1,20} \d{1,3}\.\d{1,3}")


def write_test(journal_path: str, prefix: str, file: Path, tools: str | None) -> int:
    """Write the test of a run that has ended, for a Toolkit at `module:name`, and return 0.

    Raises:
        CommandError: The run or the toolkit's name is missing, or the file cannot be written.
        JournalError: The run has not ended, or goes on from another one.
    """
    module, _, name = (tools or "").partition(":")
    if not all(map(_is_name, [*module.split("."), name])):
        message = "--pytest needs the Toolkit whose tools the test checks: add --tools module:name, of ASCII letters"
        raise CommandError(message)
    with open_journal(journal_path) as journal:
        run = journal.run(find_run_id(journal, prefix))
        lines = list(journal.export(run.id, portable=True))
        start = journal.events(run.id)[0]
    python = _PYTHON.match(str(start.data.get("interpreter")))
    # As text of ASCII alone: a test of foreign text must not be more than that text.
    record = "\n".join(f"    {line!a}," for line in lines)
    output = "" if run.result is None else run.result.output
    text = _TEMPLATE.format(
        date=run.created.date().isoformat(),
        version=VERSION,
        python=python[0] if python else "another interpreter",
        module=module,
        name=name,
        record=record,
        output=ascii(output),
        id=re.sub(r"\W", "_", run.id[:_MAX_ID], flags=re.ASCII),
    )
    write_file(file, text)
    return 0


def _is_name(text: str) -> bool:
    return text.isidentifier() and text.isascii() and not keyword.iskeyword(text)
