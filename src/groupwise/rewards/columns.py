"""Texts in a column of a row, as the rewards that compare texts read them."""

from collections.abc import Mapping
from typing import Any

from groupwise.errors import RewardError


def texts_in(row: Mapping[str, Any], column: str, setting: str, what: str) -> tuple[str, ...]:
    """The text of `row[column]`, or the texts of the list there, none of them empty; numbers as they are written.

    Raises RewardError for anything else, saying that the column must hold `what` and that `setting` names it.
    """
    value = row.get(column)
    items = list(value) if isinstance(value, list | tuple) else [value]
    usable = all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in items)
    texts = tuple(str(item) for item in items) if usable else ()
    if not texts or "" in texts:
        raise RewardError(
            f"found {value!r:.200} in column `{column}`, which must hold {what}, as a text or a list of texts. "
            f"The row has: {', '.join(row)}; set {setting} to one of them"
        )
    return texts
