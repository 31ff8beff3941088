"""A judge's verdict: its last line, in the form that was asked for, or nothing."""

import re

HIGHEST = 10.0
_NUMBER = r"[0-9]{1,2}(?:\.[0-9]{1,3})?"
_SCORE = re.compile(rf"score\s*:\s*({_NUMBER})(?:\s*/\s*10)?", re.IGNORECASE)
_WINNER = re.compile(r"winner\s*:\s*(?:answer\s+)?(a|b|tie)", re.IGNORECASE)
_SCORES = re.compile(rf"scores?\s*:\s*({_NUMBER}(?:\s*,\s*{_NUMBER})*)", re.IGNORECASE)


def score(content: str) -> tuple[float] | None:
    """`score: 7` as (0.7,)."""
    found = _SCORE.fullmatch(last_line(content))
    return (float(found[1]) / HIGHEST,) if found and float(found[1]) <= HIGHEST else None


def winner(content: str) -> tuple[float] | None:
    """`winner: A` as (1.0,), B as (0.0,), `tie` as (0.5,)."""
    found = _WINNER.fullmatch(last_line(content))
    return ({"a": 1.0, "b": 0.0, "tie": 0.5}[found[1].lower()],) if found else None


def scores(content: str, count: int) -> tuple[float, ...] | None:
    """`scores: 7, 3` as (0.7, 0.3): so many numbers as there are answers, or none."""
    found = _SCORES.fullmatch(last_line(content))
    numbers = [float(number) for number in found[1].split(",")] if found else []
    if len(numbers) != count or max(numbers) > HIGHEST:
        return None
    return tuple(number / HIGHEST for number in numbers)


def last_line(content: str) -> str:
    """The last line that is not blank, without the marks of bold and code and a final point."""
    return content.strip().rpartition("\n")[2].strip("*`_ \t\r").removesuffix(".").rstrip("*`_ \t")
