r"""Where in a text its answer stands."""

import re
from collections import deque
from collections.abc import Callable, Mapping

from groupwise.rewards.maths.surface import plain_signs
from groupwise.rewards.places import LONGEST, NUMBER, after_hashes, last_number

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?=\{|[0-9a-zA-Z])")
_STATED = re.compile(
    r"(?:\b(?:final\s+|correct\s+|right\s+)?(?:answer|result|solution)\b[\s*_]{0,4}"
    r"(?:is|are|was|will\s+be|would\s+be|equals|=|:)[\s*_:]{0,8}(?:\s*(?:that|therefore|thus|simply|just)\b)?)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s+[A-Z\\$*]|\s*$)|\n")
_REASON = re.compile(
    r"(?<=\S)[\s,;(]{1,4}(?:because|since|as\s|so\s|which|where|when|after|if\s|i\.e\.|for\s+(?:a\s+total|the)|given|i\s+hope)(?:\b|(?<=\s)).*",
    re.IGNORECASE,
)
_MATHEMATICS = re.compile(
    r"\$\$([^$]{1,1000})\$\$|\$([^$\n]{1,1000})\$|\\\[(.{1,1000}?)\\\]|\\\((.{1,1000}?)\\\)", re.DOTALL
)
_TAIL = 20_000  # characters at the end of a text in which an answer is looked for that has no mark of its own
_FRACTION = re.compile(
    r"(?P<sign>-?)(?:(?<![0-9.,/])(?P<whole>[0-9]{1,100})\s?)?"
    r"(?:\\[dtc]?frac\s*(?:\{\s*(?P<minus>-?)(?P<above>[0-9]{1,100})\s*\}|(?P<above1>[0-9]))"
    r"\s*(?:\{\s*(?P<below>[0-9]{1,100})\s*\}|(?P<below1>[0-9]))|(?<=[0-9]\s)(?P<above2>[0-9]{1,100})/(?P<below2>[0-9]{1,100}))"
)  # also a mixed number


def boxed(text: str) -> str | None:
    r"""What stands in the last \boxed{...} that is closed."""
    for start in reversed([match.end() for match in _BOX.finditer(text)][-20:]):
        if text[start] != "{":
            found = re.match(r"-?[0-9.,]+|\w", text[start : start + LONGEST])
            return found.group() if found else None
        end = _closing(text, start)
        if end:
            return text[start + 1 : end]
    return None


def boxes(text: str, count: int) -> str | None:
    r"""What stands in the last `count` boxes, if nothing but a few words and signs stand between them."""
    found: list[str] = []
    before = None
    for match in reversed(list(_BOX.finditer(text))[-count:]):
        start = match.end()
        end = _closing(text, start) if text[start] == "{" else None
        if end is None or (before is not None and before - end > 30):
            return None
        found.insert(0, text[start + 1 : end])
        before = match.start()
    return ", ".join(found) if len(found) == count else None


def the_answer_is(text: str) -> str | None:
    """What follows the last "the answer is" or "answer:", to the end of the sentence and without its reason."""
    last = _last(_STATED, text)
    if last is None:
        return None
    said = text[last.end() : last.end() + LONGEST].lstrip()
    end = _SENTENCE_END.search(said)
    said = said[: end.start()] if end else said
    return _REASON.sub("", said).strip() or None


def last_in_text(text: str) -> str | None:
    """The last number in a text, with its percent sign."""
    tail = plain_signs(text[-_TAIL:]).replace("\\!", "").replace("{,}", ",")
    tail = _FRACTION.sub(_one_fraction, tail)
    number = last_number(tail)
    if number is None or len(number) > LONGEST:
        return None
    return number + ("%" if re.match(r"\s*\\?%", tail[tail.rfind(number) + len(number) :]) else "")


def last_mathematics(text: str) -> str | None:
    r"""What stands in the last $...$, \(...\) or \[...\]."""
    last = _last(_MATHEMATICS, text[-_TAIL:])
    return next((group for group in last.groups() if group), None) if last else None


def said_last(text: str) -> str:
    """What of a text is its answer's: after the reasoning, and in the last <answer> if there is one."""
    text = text.rpartition("</think>")[2]
    opened = text.rfind("<answer>")
    if opened < 0:
        return text
    inner = text[opened + len("<answer>") :].partition("</answer>")[0]
    return inner if inner.strip() else text[:opened]


def hashes(text: str) -> str | None:
    """What follows the last ####, to the end of its line."""
    return after_hashes(text)


PLACES: Mapping[str, Callable[[str], str | None]] = {
    "boxed": boxed,
    "hashes": hashes,
    "the_answer_is": the_answer_is,
    "last_number": last_in_text,
    "whole": str.strip,
}
"""Every place by its name. `auto` is none of them: it takes the first four in this order."""


def _one_fraction(match: "re.Match[str]") -> str:
    above = match["above"] or match["above1"] or match["above2"]
    below = match["below"] or match["below1"] or match["below2"]
    if match["whole"]:
        above = str(int(match["whole"]) * int(below) + int(above))
    return f" {match['sign']}{match['minus'] or ''}{above}/{below} "


def numbers(text: str) -> list[str]:
    """The numbers in a short text, as they are written."""
    return [match.group() for match in NUMBER.finditer(text)]


def _last(pattern: "re.Pattern[str]", text: str) -> "re.Match[str] | None":
    found = deque(pattern.finditer(text), maxlen=1)
    return found[0] if found else None


def _closing(text: str, start: int) -> int | None:
    depth = 0
    for at in range(start, min(len(text), start + LONGEST + 2)):
        if text[at] == "{" and text[at - 1] != "\\":
            depth += 1
        elif text[at] == "}" and text[at - 1] != "\\":
            depth -= 1
            if depth == 0:
                return at
    return None
