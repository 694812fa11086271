"""What the sandbox lacks is said where Python's library finds nothing instead of failing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.protocol.records.silent_lacks import explain_lacks

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([]) as opened:
        yield opened


SILENT = {
    "a command": ("import os\nos.system('ls')", "os.system() starts nothing, since there are no other processes"),
    "a command, imported": ("from os import system\nsystem('ls')", "os.system() starts nothing"),
    "a command, renamed": ("import os as o\nprint(o.system('ls'))", "os.system() starts nothing"),
    "a command that an error follows": ("import os\nif os.system('ls'):\n    1 / 0", "os.system() starts nothing"),
    "a program's place": ("import shutil\nprint(shutil.which('ls'))", "shutil.which() finds nothing"),
    "files of a pattern": (
        "import glob\nprint(glob.glob('*.csv'))",
        "glob.glob() finds nothing, since there are no fi",
    ),
    "files in a function": (
        "def f():\n    from glob import iglob\n    return [*iglob('*')]\nf()",
        "glob.iglob() finds",
    ),
    "the first file": ("import glob\nprint(glob.glob('*.csv')[0])", "glob.glob() finds nothing"),
    "folders": ("import os\nfor row in os.walk('/'):\n    print(row)", "os.walk() finds nothing"),
    "a file": ("import os.path\nprint(os.path.exists('/etc/passwd'))", "os.path.exists() finds nothing"),
    "a file, imported": ("from os import path\nprint(path.isfile('a'))", "os.path.isfile() finds nothing"),
    "input": ("import sys\nprint(sys.stdin.read())", "sys.stdin is empty, since there is no input"),
    "lines of input": ("import sys\nfor line in sys.stdin:\n    print(line)", "sys.stdin is empty"),
    "input of files": ("import fileinput\nprint([*fileinput.input()])", "fileinput.input() is empty"),
    "a variable": (
        "import os\nprint(os.getenv('KEY'))",
        "os.getenv() is None, since there are no environment variables",
    ),
    "a variable of the dict": ("import os\nprint(os.environ.get('KEY'))", "os.environ.get() is None"),
}
NOT_SILENT = {
    "an object of that name": "class Os:\n    def system(self, text): return text\nos = Os()\nprint(os.system('ls'))",
    "a parameter of that name": "import os\ndef f(os): return os.system('ls')\n",
    "a function of that name": "def system(text): return 0\nimport json\nsystem('ls')",
    "a method of that name": "import json\nclass Shop:\n    def glob(self): return 1\nprint(Shop().glob())",
    "a text": "import os\nprint('os.system(1)')",
    "a variable with a default": "import os\nprint(os.getenv('TZ', 'UTC'), os.environ.get('TZ', default='UTC'))",
    "a variable of its own": "import os\nos.environ['A'] = '1'\nprint(os.getenv('A'), os.environ.get('A'))",
    "its own input": "import io, sys\nsys.stdin = io.StringIO('a')\nprint(sys.stdin.read())",
    "a name that is not called": "import os\nprint(os.path.exists is None)",
    "another function": "import os\nprint(os.path.join('a', 'b'), os.path.basename('a/b'))",
    "no Python": "import os os.system('ls')",
    "a long program": f"import os\nos.system('ls')\n{'x = 1' * 20_000}",
}


@pytest.mark.parametrize(("code", "lack"), SILENT.values(), ids=SILENT)
def test_silent_lack_is_named_to_the_model(toolkit: Toolkit, code: str, lack: str) -> None:
    result = toolkit.execute(code)
    note = next(note for note in result.notes if note.startswith("[In the sandbox, "))
    assert lack in note
    assert note in toolkit.answer(code, result)
    assert note in result.to_string()


@pytest.mark.parametrize("code", NOT_SILENT.values(), ids=NOT_SILENT)
def test_no_lack_is_named_where_there_may_be_none(code: str) -> None:
    assert explain_lacks(code) == ""


def test_tool_with_the_name_of_a_module_is_no_lack() -> None:
    @ez_tool
    def glob(pattern: str) -> list[str]:
        """Find products."""
        return [pattern]

    with Toolkit([glob]) as toolkit:
        assert toolkit.execute("import json\nglob('lamp')").notes == []
