"""Agent frameworks: their tools as ours, our tools in their agents, and our sandbox under their code modes.

Each framework has a module of its own, with the same names in each:

- `import_tools(thing)` returns our tools for one of theirs; `Toolkit([thing])` calls it.
- `export_tools(tools)` returns their tools for ours, or for a toolkit the one that runs programs.

A module imports its framework, so import it only where the framework is installed.
"""
