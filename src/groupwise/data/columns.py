"""Which column of a row plays which role, by the names that data sets use."""

from collections.abc import Mapping
from typing import Any

from groupwise.data.messages import shown
from groupwise.errors import ConfigError, DataError, did_you_mean

# Where a row has several columns for a role, the one that stands first here is read.
ROLE_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt", "question", "instruction", "problem", "query", "input"),
    "input": ("input",),
    "system": ("system", "system_prompt"),
    "response": ("completion", "response", "output"),
    "messages": ("messages", "conversations", "conversation"),
    "chosen": ("chosen", "chosen_messages"),
    "rejected": ("rejected", "rejected_messages"),
    "responses": ("responses", "completions", "candidates"),
    "scores": ("scores", "rewards", "ratings"),
    "ranks": ("ranks", "ranking"),
    "label": ("label", "kto_tag"),
    "confidence": ("confidence",),
    "annotator": ("annotator", "annotator_id", "worker", "worker_id"),
    "answer": ("answer", "solution", "ground_truth", "final_answer"),
    "text": ("text",),
}
_NOT_RENDERED = ("tools", "history", "images", "image", "audios", "audio", "videos", "video")


class Found:
    """The roles found in one row, by column name and value; a null is as good as absent."""

    def __init__(self, row: Mapping[str, Any], columns: Mapping[str, str]) -> None:
        self.row = row
        self._asked = columns
        self._column: dict[str, str] = {}
        for role, names in ROLE_COLUMNS.items():
            name = columns.get(role)
            if name is not None and name not in row:
                raise DataError(f"has no column `{name}` (asked for as {role}).{did_you_mean(name, row)}")
            for candidate in names if name is None else (name,):
                if row.get(candidate) is not None:
                    self._column[role] = candidate
                    break
        for name in _NOT_RENDERED:
            if row.get(name) and name not in columns.values():
                raise DataError(
                    f"`{name}` is {shown(row[name])}: it would not reach the model, only text and messages do; "
                    "remove or rename the column"
                )

    def __contains__(self, role: str) -> bool:
        return role in self._column

    def column(self, role: str) -> str:
        """The column's name."""
        return self._column[role]

    def value(self, role: str) -> Any:
        """The column's value."""
        return self.row[self._column[role]]

    def has_input(self) -> bool:
        """Whether an instruction has a separate, filled-in input."""
        if "input" not in self or self.column("input") == self.column("prompt"):
            return False
        return (self.column("prompt") == "instruction" or "input" in self._asked) and bool(self.value("input"))

    def missing(self, needed: str) -> DataError:
        """The error for a row without the columns for what is asked."""
        names = [name for name, value in self.row.items() if value is not None]
        known = sorted({name for aliases in ROLE_COLUMNS.values() for name in aliases})
        guesses = [
            f" `{name}`:{hint}"
            for name in names
            if name not in known and "Did you mean" in (hint := did_you_mean(name, known))
        ]
        return DataError(
            f"has the columns {', '.join(f'`{name}`' for name in names) or 'none'}: {needed};"
            f" rename a column or name it in `columns`.{''.join(guesses)}"
        )


def check_columns(columns: Mapping[str, str]) -> None:
    """Raise ConfigError for a role that does not exist."""
    for role in columns:
        if role not in ROLE_COLUMNS:
            raise ConfigError(f"columns: `{role}` is no role.{did_you_mean(role, ROLE_COLUMNS)}")
