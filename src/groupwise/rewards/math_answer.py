"""Whether the answer's mathematics is right."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError, MissingExtra, RewardError
from groupwise.rewards.apart import apart
from groupwise.rewards.maths import by_math_verify, extract
from groupwise.rewards.maths.compare import Percent, Rules, Units, same, weigh
from groupwise.rewards.maths.expression import Node, TooLarge
from groupwise.rewards.maths.forms import Form, Quantity, Relation, Several, Words, form
from groupwise.rewards.maths.steps import checked_steps
from groupwise.rewards.maths.surface import clean
from groupwise.rewards.maths.wording import choice, says

Extract = Literal["auto", "boxed", "hashes", "the_answer_is", "last_number", "whole"]
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "extract": ("auto", "boxed", "hashes", "the_answer_is", "last_number", "whole"),
    "percent": ("either", "value", "number"),
    "units": ("match", "ignore", "require"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class MathAnswer:
    r"""1 if the answer found in the text is mathematically the row's answer, else 0.

        score = 1[ extract(text) = row[answer_column] ]

    `extract` says where the answer is looked for:
    "boxed"          inside the last \boxed{...} that is closed;
    "hashes"         after the last ####, to the end of that line;
    "the_answer_is"  after the last "the answer is", "answer:" or their like, to the end of the sentence;
    "last_number"    the last number anywhere;
    "whole"          the text is the answer and nothing else;
    "auto"           the first of these four that the text has, in this order; "last_number" only if the right answer
                     is a number, else the last $...$, else a text of one line. Only what follows </think> is
                     looked at, and only the last <answer>...</answer> if there is one.

    Equal are: numbers and expressions of the same value, compared exactly as fractions or else to 25 digits, at eight
    points if there are letters in them; a decimal number of six or more places and what it is rounded from; lists and
    sets in any order, tuples and matrices in theirs; intervals and the inequalities that say them; equations that
    differ by a factor; x = 5 and 5; words, case and articles aside. "18 or 19" is two answers and not 18.
    percent: "either" 50% is 0.5, and 50 too (from 1 % on); "value" only 0.5; "number" only 50.
    units: "match" a unit may be left out, but where both say one they must agree, 1 m being 100 cm; "require" the
    right answer's may not be left out; "ignore" they are not looked at.
    worked_out: with True, "12 + 7" is not 19: where the right answer is a number, so must the answer be.
    steps: with True the reward of a process: {"score": score, "steps": [(end, reward), ...]}. A step is a sentence or
    line with a calculation in it and earns 1 if all its equalities hold; the last one, the text's end, earns the score.

    Nothing is evaluated as code. Sizes are bounded before a step is taken: at most 1,000 characters an answer, 20,000
    bits a number, 1,000!, brackets 30 deep. An answer over these limits is wrong, 0: if it were unjudged instead, a
    policy could hide in it. What is not read here (a sum, an integral, products of matrices) is put to math-verify if
    it is short and the right answer is of that kind as well. None, not judged: only if the right answer itself is over
    the limits and the text's is not written the same; or if math-verify ran into the harness's limits.

    Raises RewardError for a row without a usable answer; MissingExtra on construction without the extra "math".
    """

    extract: Extract = "auto"  # what of a completion is its answer
    answer_column: str = (
        "answer"  # the column that holds the right answer: a number or a text, perhaps with #### or \boxed
    )
    percent: Percent = "either"  # what 50% is equal to
    units: Units = "match"  # what a unit is worth
    worked_out: bool = False  # whether a number must be given as one
    steps: bool = False  # whether each step of the text gets a reward of its own

    deterministic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"math_answer.{name} = {getattr(self, name)!r}, must be one of {', '.join(allowed)}")
        if not by_math_verify.installed():
            raise MissingExtra("math-verify", "math", "the reward `math_answer`")

    def __call__(self, row: Mapping[str, Any], text: str) -> Any:
        """Score one completion, in a process that can be killed."""
        return apart(self, row, text)

    def judge(self, row: Mapping[str, Any], text: str) -> float | dict[str, Any] | None:
        """Score one completion in this process."""
        gold = self._right(row)
        found = self._found(gold, text)
        score = self._score(gold, found) if found else 0.0
        if not self.steps or score is None:
            return score
        return {"score": score, "steps": checked_steps(text, score)}

    def gold(self, row: Mapping[str, Any]) -> str | None:
        """A text that must score 1 on this row."""
        if row.get(self.answer_column) is None:
            return None
        answer = self._right(row)
        written = {
            "boxed": f"\\boxed{{{answer}}}",
            "hashes": f"#### {answer}",
            "the_answer_is": f"The answer is {answer}",
            "auto": f"#### {answer}",
        }
        return written.get(self.extract, answer)

    def _right(self, row: Mapping[str, Any]) -> str:
        value = row.get(self.answer_column)
        usable = isinstance(value, str | int | float) and not isinstance(value, bool) and value == value
        answer = _of_row(str(value)) if usable else ""
        if not answer:
            raise RewardError(
                f"found {value!r:.200} in column `{self.answer_column}`, which must hold the right answer, as a number "
                f"or a text. The row has: {', '.join(row)}; set math_answer.answer_column to one of them"
            )
        return answer

    def _found(self, gold: str, text: str) -> str | None:
        if self.extract != "auto":
            return extract.PLACES[self.extract](text)
        text = extract.said_last(text)
        several = _form(gold)
        if isinstance(several, Several) and len(several.items) > 1 and text.count("\\boxed") >= len(several.items):
            together = extract.boxes(text, len(several.items))
            if together is not None and not isinstance(_form(extract.boxed(text) or ""), Several):
                return together
        for place in ("boxed", "hashes", "the_answer_is"):
            found = extract.PLACES[place](text)
            if found is not None:
                return found
        if several is None or (isinstance(several, Quantity) and _is_number(several.tree)):
            return extract.last_in_text(text)
        one_line = "\n" not in text.strip() and "\\boxed" not in text
        return extract.last_mathematics(text) or (text.strip() if one_line else None)

    def _score(self, gold: str, found: str) -> float | None:
        right = _form(gold)
        if right is None:
            return 1.0 if _written(gold) == _written(found) else None
        try:
            answer = form(found)
            if self._accepts(right, gold, answer, found):
                return 1.0
            if isinstance(answer, Words):
                number = _only_number(found) if isinstance(right, Quantity) else None
                return float(number is not None and self._accepts(right, gold, number, found))
        except TooLarge:
            return 0.0
        return 0.0

    def _accepts(self, right: Form, gold: str, answer: Form, found: str) -> bool:
        if self.worked_out and isinstance(right, Quantity) and _is_number(right.tree) and not _is_worked_out(answer):
            return False
        if len(gold) == 1 and gold in "ABCDEFGH" and choice(clean(found)) is not None:
            return choice(clean(found)) == gold
        if _written(gold) == _written(found) or same(right, answer, Rules(percent=self.percent, units=self.units)):
            return True
        if not _unread(right):
            return False
        weigh(answer)
        one, other = clean(gold), clean(found)
        if by_math_verify.undone(other) and not by_math_verify.undone(one):
            return False
        return by_math_verify.cheap(one) and by_math_verify.cheap(other) and by_math_verify.verified(one, other)


def _of_row(value: str) -> str:
    """A row's answer: what stands after its last ####, or in its last box, else all of it."""
    if "####" in value:
        return (extract.hashes(value) or "").strip()
    return (extract.boxed(value) or value).strip()


@lru_cache(maxsize=1024)
def _form(gold: str) -> Form | None:
    """None: it is over the limits, and can only be compared as it is written."""
    try:
        found = form(gold)
        weigh(found)
    except TooLarge:
        return None
    return None if isinstance(found, Words) and _unread(found) and not by_math_verify.cheap(clean(gold)) else found


def _written(text: str) -> str:
    return "".join(clean(text[:20_000]).split())


def _unread(found: Form) -> bool:
    r"""Whether there is mathematics in it that was not read."""
    if isinstance(found, Words):
        return not says(found.text) and ("\\" in found.text or any(sign in found.text for sign in "^_=+"))
    if isinstance(found, Relation | Several):
        return any(map(_unread, found.sides if isinstance(found, Relation) else found.items))
    return not isinstance(found, Quantity)


def _is_number(tree: Node) -> bool:
    """Whether a tree is a number as one writes it: with a sign, as a fraction, mixed, or times a power of ten."""
    kind = tree[0]
    if kind == "num":
        return True
    if kind in ("neg", "percent"):
        return _is_number(tree[1])
    if kind in ("div", "mixed"):
        return _is_number(tree[1]) and _is_number(tree[2])
    if kind == "mul" and tree[2][0] == "pow":
        return _is_number(tree[1]) and _is_number(tree[2][2]) and tree[2][1][:2] == ("num", 10)
    return False


def _is_worked_out(answer: Form) -> bool:
    if isinstance(answer, Relation):
        return _is_worked_out(answer.sides[-1])
    if isinstance(answer, Several) and len(answer.items) == 1:
        return _is_worked_out(answer.items[0])
    return not isinstance(answer, Quantity) or _is_number(answer.tree)


def _only_number(found: str) -> Form | None:
    """The number in a phrase that holds exactly one: "that she makes 18 dollars a day"."""
    numbers = extract.numbers(clean(found))
    return form(numbers[0]) if len(numbers) == 1 else None
