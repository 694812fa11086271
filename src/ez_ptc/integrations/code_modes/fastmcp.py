"""Our sandbox under FastMCP's code mode."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ez_ptc._sync import to_thread_and_back
from ez_ptc.errors import ToolError
from ez_ptc.integrations.code_modes.functions import describe_failure, describe_output, describe_value, function_tool
from ez_ptc.integrations.frameworks import import_framework
from ez_ptc.sandbox.protocol.tool_types import parse_source
from ez_ptc.toolkit.toolkit import Toolkit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SandboxProvider"]

import_framework("fastmcp", package="fastmcp")


class SandboxProvider:
    """Run code in our sandbox: `FastMCP("shop", transforms=[CodeMode(sandbox_provider=SandboxProvider())])`."""

    def __init__(self, **options: Any) -> None:
        """Use the options of `Toolkit`, such as `timeout` and `allow_imports`."""
        self._options = options
        # A toolkit without tools keeps the sandbox's processes between requests.
        self._keeper = Toolkit([], **options)
        self._results = self._keeper.results_of()

    async def run(
        self,
        code: str,
        *,
        inputs: dict[str, Any] | None = None,
        external_functions: dict[str, Callable[..., Any]] | None = None,
    ) -> Any:
        """Run code, and return what it returns, else the value of its last expression, else what it printed.

        Raises ToolError if it fails, with the traceback and what it printed before.
        """
        functions = external_functions or {}
        tools = [function_tool(name, function, functions.__getitem__) for name, function in functions.items()]
        if inputs:
            variables = dict(inputs)
            tools.append(function_tool("ez_ptc_inputs", lambda: variables, lambda _: lambda: variables))
            code = f"globals().update(ez_ptc_inputs())\n{code}"
        toolkit = Toolkit(tools, **self._options)
        try:
            # The next program of a client reads what is too long for its model, by a name that no one can guess.
            result = await toolkit.aexecute(_without_return(code), results=self._results)
        finally:
            await to_thread_and_back(toolkit.close)
        if not result.success:
            raise ToolError(describe_failure(result))
        return describe_output(result) if result.return_value is None and result.output else describe_value(result)


def _without_return(code: str) -> str:
    """Return a program for code that returns as a function does, as FastMCP tells models to write it."""
    try:
        tree = parse_source(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the program fails with the same error
        return code
    if not any(isinstance(node, ast.Return) for statement in tree.body for node in _outside_functions(statement)):
        return code
    main = parse_source("async def main(): ...\nawait main()")
    function: Any = main.body[0]
    function.body = tree.body
    return ast.unparse(ast.fix_missing_locations(main))


def _outside_functions(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return []
    return [node, *(descendant for child in ast.iter_child_nodes(node) for descendant in _outside_functions(child))]
