"""How near the text's length is to a target."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from groupwise.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Length:
    """1 at the target length, falling in a straight line to 0 at nothing and at twice the target.

    score = max(0, 1 - |n - target| / target),   n = words or characters of the text
    """

    target: int = 50  # the length that scores 1
    unit: Literal["words", "characters"] = "words"  # what is counted

    def __post_init__(self) -> None:
        if not self.target > 0:
            raise ConfigError(f"length.target = {self.target}, must be above 0")
        if self.unit not in ("words", "characters"):
            raise ConfigError(f"length.unit = {self.unit!r}, must be `words` or `characters`")

    def __call__(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion; the row is not read."""
        size = len(text.split()) if self.unit == "words" else len(text)
        return max(0.0, 1.0 - abs(size - self.target) / self.target)
