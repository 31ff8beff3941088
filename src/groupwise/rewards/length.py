"""How long the text is: near a target, or not over a limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Length:
    """1 at the target length, falling in a straight line to 0 at nothing and at twice the target; or a soft limit.

        score = max(0, 1 - |n - target| / target),   n = words, characters or tokens of the text

    With `max_length` it is the soft overlong punishment of DAPO (arXiv:2503.14476, eq. 13), to add to another reward:

        0                                         n <= max_length - cache_length
        (max_length - cache_length - n) / cache_length    up to max_length
        -1                                        beyond

    Words are what blanks separate: for scripts without blanks count characters. Tokens are counted by the
    `tokenizer`'s file, without special tokens: a sampler's own count may differ by the end token, and by a few where
    the text can be split in another way.
    """

    target: int = 50  # the length that scores 1; not read if there is a max_length
    unit: Literal["words", "characters", "tokens"] = "words"  # what is counted
    max_length: int | None = None  # from here on the penalty is whole: DAPO's L_max
    cache_length: int | None = None  # over how many units it grows from 0 to -1: DAPO's L_cache
    tokenizer: str | None = None  # a tokenizer.json, or the folder of a model that has one

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.target > 0:
            raise ConfigError(f"length.target = {self.target}, must be above 0")
        if self.unit not in ("words", "characters", "tokens"):
            raise ConfigError(f"length.unit = {self.unit!r}, must be `words`, `characters` or `tokens`")
        if (self.max_length is None) != (self.cache_length is None):
            raise ConfigError(
                f"length.max_length = {self.max_length} and length.cache_length = {self.cache_length}: the soft limit "
                "needs both; without them the length is compared with the target"
            )
        if self.max_length is not None and self.cache_length is not None:
            if self.target != 50:
                raise ConfigError(
                    f"length.target = {self.target} and length.max_length = {self.max_length}: set one of the two; "
                    "`combine` adds several rewards"
                )
            if not 0 < self.cache_length <= self.max_length:
                raise ConfigError(
                    f"length.cache_length = {self.cache_length}, must be above 0 and at most max_length = "
                    f"{self.max_length}"
                )
        if (self.unit == "tokens") != (self.tokenizer is not None):
            raise ConfigError(
                f"length.unit = {self.unit!r} and length.tokenizer = {self.tokenizer!r}: `tokens` need the path of a "
                "tokenizer.json; `words` and `characters` none"
            )
        if self.tokenizer is not None:
            _tokenizer(self.tokenizer)

    def __call__(self, row: Mapping[str, Any], text: str) -> float:
        """Score one completion; the row is not read."""
        size = self._size(text)
        if self.max_length is None or self.cache_length is None:
            return max(0.0, 1.0 - abs(size - self.target) / self.target)
        over = size - (self.max_length - self.cache_length)
        return -min(1.0, over / self.cache_length) if over > 0 else 0.0

    def _size(self, text: str) -> int:
        if self.tokenizer is None:
            return len(text.split()) if self.unit == "words" else len(text)
        return len(_tokenizer(self.tokenizer).encode(_encodable(text), add_special_tokens=False).ids)


def _encodable(text: str) -> str:
    """Half of a surrogate pair is no character, and no tokenizer takes it."""
    return text.encode(errors="replace").decode()


@lru_cache(maxsize=4)
def _tokenizer(path: str) -> Any:
    from tokenizers import Tokenizer

    file = Path(path) / "tokenizer.json" if Path(path).is_dir() else Path(path)
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the package raises no class of its own
        raise ConfigError(f"length.tokenizer = {path!r}: {str(file)!r} cannot be read: {error}") from error
    tokenizer.no_truncation()  # such a file may hold limits, which would be counted for the text
    tokenizer.no_padding()
    return tokenizer
