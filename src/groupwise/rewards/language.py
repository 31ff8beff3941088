"""Whether the text is in the wanted language."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from groupwise.errors import ConfigError, MissingExtra, did_you_mean

PIECE = 40  # letters that are judged together, at least
PIECES = 300  # of a text, about: of longer ones the pieces are longer
LONGEST = 4000  # characters of a piece
_ENDS = ".!?;:\n\u3002\uff01\uff1f\uff1b\u0964\u06d4\u061f"  # of sentences and lines
_NORWEGIAN = ("no", "nb", "nn")  # the library knows all three, and they are hard to tell apart


@dataclass(frozen=True, kw_only=True, slots=True)
class Language:
    """The share of the text's letters that stand in pieces of the wanted language.

        score = sum_p letters(p) 1[ language(p) = language ] / sum_p letters(p)

    A piece is a sentence or line, joined with the next ones until it has 40 letters (of a text over 12,000 letters
    one 300th); py3langid says its language, one of 97 or of those in `among`. A Chinese, Japanese or Korean
    character counts as three letters. Words strewn into sentences of another
    language are not seen.

    None for a text of fewer than `min_letters` letters, unless `short` is set. A policy can hide in None, since
    it costs nothing: where that is possible set `short: 0`, or combine with `length`.
    Needs the extra "language": MissingExtra on construction without it.
    """

    language: str = "en"  # the wanted one, by its ISO 639-1 code
    among: tuple[str, ...] = ()  # the languages to choose from, which makes fewer mistakes; empty: all 97
    min_letters: int = 20  # a text with fewer is too short to judge
    short: float | None = None  # the score of a text that is too short

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        known = _identifier(()).labels
        codes: Any = self.among
        if isinstance(codes, str):
            raise ConfigError(f"language.among = {codes!r}, must be a list of codes such as `en`")
        for name, code in (("language", self.language), *(("among", code) for code in codes)):
            if code not in known:
                raise ConfigError(f"language.{name} = {code!r} is not known.{did_you_mean(code, known)}")
        if codes and (self.language not in codes or len(set(codes)) < 2):
            raise ConfigError(
                f"language.among = {list(codes)!r}, must hold language = {self.language!r} and another, or be empty"
            )
        if self.min_letters < 1:
            raise ConfigError(f"language.min_letters = {self.min_letters}, must be 1 or more")
        if self.short is not None and not math.isfinite(self.short):
            raise ConfigError(f"language.short = {self.short}, must be finite, or null for unjudged")

    def __call__(self, row: Mapping[str, Any], text: str) -> float | None:
        """Score one completion; the row is not read."""
        pieces = _pieces(text)
        total = sum(letters for _, letters in pieces)
        if total < self.min_letters:
            return self.short
        wanted = _NORWEGIAN if self.language in _NORWEGIAN else (self.language,)
        classify = _identifier(tuple(sorted(set(self.among)))).classify
        return sum(letters for piece, letters in pieces if letters and classify(piece)[0] in wanted) / total


def _pieces(text: str) -> list[tuple[str, int]]:
    """Neighbouring sentences with enough letters to judge, and how many; what is left at the end joins the last."""
    weights = [_weight(c) for c in text]
    least = max(PIECE, sum(weights) // PIECES)
    pieces: list[tuple[str, int]] = []
    start, letters = 0, 0
    for i, (character, weight) in enumerate(zip(text, weights, strict=True)):
        letters += weight
        ended = character in _ENDS or letters >= 4 * least
        if (ended and letters >= least) or i - start >= LONGEST:
            pieces.append((text[start : i + 1], letters))
            start, letters = i + 1, 0
    if letters and pieces and letters < least // 2:
        last, before = pieces.pop()
        return [*pieces, (last + text[start:], before + letters)]
    return [*pieces, (text[start:], letters)] if letters else pieces


def _weight(character: str) -> int:
    """A character's part of a piece: scripts of syllables and words say as much in a third of the characters."""
    if not character.isalpha():
        return 0
    dense = "\u3040" <= character <= "\u30ff" or "\u3400" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7af"
    return 3 if dense else 1


@lru_cache(maxsize=16)
def _identifier(among: tuple[str, ...]) -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise MissingExtra("py3langid", "language", "the reward `language`") from error
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    if among:
        identifier.set_languages(among)
    return identifier
