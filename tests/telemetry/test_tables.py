"""The tables of docs/telemetry.md against the source."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

from opentelemetry.sdk.metrics import MeterProvider

from ez_ptc.telemetry.metrics import Metrics

_LEVELS = {"exception": "ERROR", "log": "any"}


def page(repository: Path) -> str:
    return (repository / "docs" / "telemetry.md").read_text()


def records_of(path: Path) -> set[tuple[str, str]]:
    """Return the loggers of a module, each with the level of a record that it makes."""
    source = path.read_text()
    if "getLogger" not in source:
        return set()
    tree = ast.parse(source)
    loggers = {
        target.id: node.value.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args
        for target in node.targets
        if isinstance(target, ast.Name)
        and ast.unparse(node.value.func) == "logging.getLogger"
        and isinstance(node.value.args[0], ast.Constant)
    }
    calls = [
        (node.func.value.id, node.func.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.attr in {"debug", "info", "warning", "error", "exception", "critical", "log"}
    ]
    return {(str(loggers[logger]), _LEVELS.get(level, level.upper())) for logger, level in calls if logger in loggers}


def test_table_has_each_logger_and_level(repository: Path) -> None:
    modules = (repository / "src" / "ez_ptc").rglob("*.py")
    records = set[tuple[str, str]]().union(*map(records_of, modules))
    table = re.findall(r"^\| `(ez_ptc\.\w+)` \| (\w+) \|", page(repository), re.MULTILINE)
    assert sorted(table) == sorted(records)


def test_table_has_each_metric(repository: Path) -> None:
    names: list[str] = []
    meter = MeterProvider().get_meter("checks the options")

    class Meter:
        """Takes the names of instruments."""

        def __getattr__(self, kind: str) -> Callable[..., object]:
            def create(name: str, **options: object) -> object:
                names.append(name)
                return getattr(meter, kind)(name, **options)

            return create

    Metrics(Meter())
    row = r"^\| `((?:gen_ai|ez_ptc)\.[\w.]+)` \|[^|]*\b(?:histogram|counter)\b"
    assert sorted(re.findall(row, page(repository), re.MULTILINE)) == sorted(names)
