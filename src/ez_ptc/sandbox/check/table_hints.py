"""Hints for programs that use a table, a column or an array as pandas and numpy do: they come as lists."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from ..protocol.both_ends.quoting import name_list

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["hint_of_column", "hint_of_table", "is_of_table"]

# Names of what tables, columns and arrays have, and lists do not.
_ATTRIBUTE = re.compile(
    "T|agg|aggregate|all|any|apply|assign|astype|at|columns|corr|cumsum|describe|diff|drop|drop_duplicates|dropna|dt"
    "|dtypes?|empty|eq|explode|fillna|filter|first|flatten|ge|groupby|gt|head|iat|idxmax|idxmin|iloc|info|isin|isna"
    "|isnull|iterrows|itertuples|join|last|le|loc|lt|map|max|mean|median|melt|merge|min|mode|nlargest|notna|notnull"
    "|nsmallest|nunique|pivot|pivot_table|plot|quantile|query|rank|rename|resample|reset_index|reshape|round|sample"
    "|set_index|shape|shift|size|sort_index|sort_values|std|str|sum|tail|to_(?:csv|dict|json|list|numpy|string)|tolist"
    "|transform|unique|value_counts|values|var|where"
)


def is_of_table(name: str) -> bool:
    """Return whether a table, a column or an array has an attribute of this name."""
    return _ATTRIBUTE.fullmatch(name) is not None


def hint_of_table(keys: Collection[object]) -> str:
    """Return how to use a list of records with these keys, as far as they are known, like a table."""
    columns = f", with the keys {name_list(keys)}" if keys else ""
    return f"a table comes as a list of records{columns}; {_how_to_make('pd.DataFrame(rows)', 'frame')}"


def hint_of_column() -> str:
    """Return how to use a list of values like a column or an array."""
    return f"a column or an array comes as a list, as for sum(values); {_how_to_make('pd.Series(values)', 'series')}"


def _how_to_make(code: str, made: str) -> str:
    if "pandas" in sys.modules:
        return f"`{code}` makes a {made}, after `import pandas as pd`"
    return f"loop over it: `{code}` needs pandas, which programs cannot import here"
