"""An import-linter contract for the folders or modules of our providers, as the table of providers lists them."""

from typing import Any

from importlinter import fields
from importlinter.contracts.independence import IndependenceContract

from ez_ptc.formats.provider_table import PROVIDERS

__all__ = ["ProviderContract"]


class ProviderContract(IndependenceContract):
    """What `package` has for each provider, and the `modules` besides, are independent of each other."""

    type_name = "providers"

    package = fields.StringField()

    def __init__(self, name: str, session_options: dict[str, Any], contract_options: dict[str, Any]) -> None:
        """Add the providers of the table to the modules."""
        folders = [f"{contract_options['package']}.{entry.folder}" for entry in PROVIDERS]
        options = {**contract_options, "modules": [*contract_options["modules"], *folders]}
        super().__init__(name, session_options, options)
