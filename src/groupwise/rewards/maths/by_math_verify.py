"""Ask math-verify about two answers that are not read here: sums, integrals, products of matrices, set algebra.

Only short and shallow ones: its grammar takes a minute for twenty braces inside each other, and its algebra computes
what it is told to. Its own clocks are signals, which only the main thread may set: they are off, and the harness's
limits hold.
"""

import importlib
import importlib.util
import logging
import re
from functools import lru_cache
from typing import Any

from groupwise.errors import MissingExtra
from groupwise.rewards.maths.surface import CLOSE, DOLLAR, OPEN

LONGEST, DEEPEST = 200, 3
_DEAR = re.compile(
    r"[0-9]{10}|!\s*!|[)}\]]\s*!|binom.*\^|boxed|[0-9]{3}\s*!|\^\s*\{?\s*[-0-9]{3}|\^\s*\{[^}]*\^|\^\s*\w+\s*\^|(?:&.*){12}|(?:\\\\.*){8}"
)
_UNDONE = re.compile(
    r"\\(?:sum|prod|int|iint|oint|lim|limsup|liminf|frac\s*\{d\}|partial|max|min|sup|inf|gcd|lcm)(?![a-z])"
)


def installed() -> bool:
    """Whether math-verify is there, without importing it."""
    return importlib.util.find_spec("math_verify") is not None


def cheap(text: str) -> bool:
    """Whether math-verify may be asked about a text: short, flat, with small numbers."""
    depth = deepest = 0
    for sign in text:
        depth += (sign in "([{" + OPEN) - (sign in ")]}" + CLOSE)
        deepest = max(deepest, depth)
    return depth == 0 and len(text) <= LONGEST and deepest <= DEEPEST and _DEAR.search(text) is None


def undone(text: str) -> bool:
    """Whether a text tells what would have to be computed: a sum, an integral, a limit."""
    return _UNDONE.search(text) is not None


def verified(gold: str, answer: str) -> bool:
    """Whether math-verify says that a cleaned answer is the cleaned right one."""
    left, right = _parsed(gold), _parsed(answer)
    return bool(left and right and _package().verify(list(left), list(right), timeout_seconds=None))


@lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[Any, ...]:
    package = _package()
    latex = text.replace(OPEN, "\\{").replace(CLOSE, "\\}").replace(DOLLAR, "")
    config = package.LatexExtractionConfig(boxed_match_priority=0)
    found = package.parse(f"\\boxed{{{latex}}}", [config], fallback_mode="no_fallback", parsing_timeout=None)
    return tuple(found)


@lru_cache(maxsize=1)
def _package() -> Any:
    try:
        package = importlib.import_module("math_verify")
    except ImportError as error:
        raise MissingExtra("math-verify", "math", "the reward `math_answer`") from error
    for part in ("parser", "grader"):  # they warn that their clocks are off
        logging.getLogger(f"math_verify.{part}").setLevel(logging.ERROR)
    return package
