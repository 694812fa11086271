"""An import-linter contract for folders of modules that another process starts by path.

Such modules can import the standard library and each other, relatively or by the name under which that process knows
the folder around them. Anything else is either absent there or must not get there; an absolute import of a sibling
would bring in the whole package around the folder.
"""

import sys
from typing import TYPE_CHECKING, Final, cast

from importlinter import Contract, ContractCheck, fields, output

if TYPE_CHECKING:
    from grimp import ImportGraph

__all__ = ["StandaloneContract"]

_FOUND: Final = "forbidden imports"


class StandaloneContract(Contract):
    """The modules of `packages`, in `alias` where they run, import only the standard library and each other."""

    type_name = "standalone"

    packages = fields.ListField(fields.StringField())
    alias = fields.StringField()

    def check(self, graph: "ImportGraph", verbose: bool) -> ContractCheck:  # noqa: ARG002, FBT001 - theirs to say
        """Look at every direct import of every module in the packages."""
        packages = cast("list[str]", self.packages)
        inside = {module for package in packages for module in (package, *graph.find_descendants(package))}
        allowed = {cast("str", self.alias), *sys.stdlib_module_names}
        found = [
            f"{module} (l.{details['line_number']}): {details['line_contents']}"
            for module in sorted(inside)
            for imported in sorted(graph.find_modules_directly_imported_by(module) - allowed)
            for details in graph.get_import_details(importer=module, imported=imported)
            if imported not in inside or not details["line_contents"].startswith("from .")
        ]
        return ContractCheck(kept=not found, metadata={_FOUND: found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line an import."""
        for line in check.metadata[_FOUND]:
            output.print_error(line)
