"""Whether two forms are the same answer. What is equal to what is told in `MathAnswer` and the guide to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from groupwise.rewards.maths import value
from groupwise.rewards.maths.expression import Node, NotRead, names, read
from groupwise.rewards.maths.forms import Form, Matrix, Quantity, Relation, Several, Union, Words, is_variable
from groupwise.rewards.maths.surface import OPEN
from groupwise.rewards.maths.units import known, words
from groupwise.rewards.maths.wording import same_words

Percent = Literal["either", "value", "number"]
Units = Literal["match", "ignore", "require"]

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_INFINITY: Node = ("sym", "infty")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What counts as equal."""

    percent: Percent = "either"
    units: Units = "match"


def same(gold: Form, answer: Form, rules: Rules) -> bool:
    """Whether an answer is the right one. Raises TooLarge."""
    if isinstance(gold, Relation) or isinstance(answer, Relation):
        return _same_relation(gold, answer, rules)
    if isinstance(gold, Quantity) and isinstance(answer, Quantity):
        return _same_quantity(gold, answer, rules)
    if isinstance(gold, Words) or isinstance(answer, Words):
        return _same_words(gold, answer)
    if isinstance(gold, Union) or isinstance(answer, Union):
        return _any_order(_parts(gold), _parts(answer), rules)
    rows = _rows(gold), _rows(answer)
    if isinstance(gold, Matrix) or isinstance(answer, Matrix):
        return rows[0] is not None and rows[1] is not None and _same_rows(rows[0], rows[1], rules)
    if isinstance(gold, Several) and isinstance(answer, Several):
        return _same_several(gold, answer, rules)
    one, other = (gold, answer) if isinstance(gold, Several) else (answer, gold)
    return isinstance(one, Several) and len(one.items) == 1 and same(one.items[0], other, rules)  # {5} is 5


def weigh(found: Form) -> None:
    """Raise TooLarge for a form with a number in it that is over the limits."""
    if isinstance(found, Quantity):
        value.weigh(found.tree)
    elif isinstance(found, Matrix):
        for row in found.rows:
            for cell in row:
                weigh(cell)
    elif not isinstance(found, Words):
        parts = (
            found.sides if isinstance(found, Relation) else _parts(found) if isinstance(found, Union) else found.items
        )
        for part in parts:
            weigh(part)


def _same_words(gold: Form, answer: Form) -> bool:
    if isinstance(gold, Several) and not gold.items:
        gold = Words(text="\\emptyset")
    if isinstance(answer, Several) and not answer.items:
        answer = Words(text="\\emptyset")
    if isinstance(gold, Words) and isinstance(answer, Quantity) and not answer.unit:
        answer = Words(text=_symbol(answer.tree))
    if isinstance(answer, Words) and isinstance(gold, Quantity) and not gold.unit:
        gold = Words(text=_symbol(gold.tree))
    return isinstance(gold, Words) and isinstance(answer, Words) and same_words(gold.text, answer.text)


def _symbol(tree: Node) -> str:
    return str(tree[1]) if tree[0] == "sym" else ""


def _same_quantity(gold: Quantity, answer: Quantity, rules: Rules) -> bool:
    if gold.measured and not names(answer.tree):
        gold = gold.measured
    if answer.measured and not names(gold.tree):
        answer = answer.measured
    factor = _unit_factor(gold.unit, answer.unit, rules)
    if factor is None:
        return False
    tree: Node = answer.tree if factor == 1 else ("mul", answer.tree, ("num", factor, -1))
    if rules.percent == "number" or gold.percent == answer.percent:
        return value.equal(gold.tree, tree)
    one, other = (("percent", q.tree) if q.percent else q.tree for q in (gold, answer))
    if value.equal(one, other):
        return True
    if rules.percent == "value" or not value.equal(gold.tree, tree):
        return False
    number = value.exact(gold.tree)  # the sign was left out or added: 50 for 50%, but not 0.5 for 0.5%
    return number is None or abs(number) >= 1


def _unit_factor(gold: str, answer: str, rules: Rules) -> Fraction | None:
    """What the answer's number is multiplied with to be in the right answer's unit; None if they don't go together."""
    one = Fraction(1)
    if rules.units == "ignore":
        return one
    if not gold or not answer:
        return None if rules.units == "require" and gold and not answer else one
    left, right = known(gold), known(answer)
    if left and right:
        return right[1] / left[1] if left[0] == right[0] else None
    return one if words(gold) & words(answer) else None


def _parts(form: Form) -> Sequence[Form]:
    if isinstance(form, Several) and not form.open and all(isinstance(item, Relation) for item in form.items):
        intervals = [_interval(item) for item in form.items]  # x < 2 or x > 3
        return [interval for interval in intervals if interval is not None]
    return form.parts if isinstance(form, Union) else (form,)


def _any_order(gold: Sequence[Form], answer: Sequence[Form], rules: Rules) -> bool:
    if len(gold) != len(answer):
        return False
    left = list(answer)
    for one in gold:
        found = next((at for at, other in enumerate(left) if same(one, other, rules)), None)
        if found is None:
            return False
        del left[found]
    return True


def _in_order(gold: Sequence[Form], answer: Sequence[Form], rules: Rules) -> bool:
    return len(gold) == len(answer) and all(same(a, b, rules) for a, b in zip(gold, answer, strict=True))


def _rows(form: Form) -> Sequence[Sequence[Form]] | None:
    """A matrix's rows; those of [[1, 2], [3, 4]] too, and a point or vector as one row."""
    if isinstance(form, Matrix):
        return form.rows
    if not isinstance(form, Several) or not form.ordered:
        return None
    rows = [item.items for item in form.items if isinstance(item, Several) and item.open == "["]
    return rows if len(rows) == len(form.items) else [form.items]


def _same_rows(gold: Sequence[Sequence[Form]], answer: Sequence[Sequence[Form]], rules: Rules) -> bool:
    if len(gold) == len(answer) and all(_in_order(a, b, rules) for a, b in zip(gold, answer, strict=True)):
        return True
    flat = [[row[0] for row in rows] if all(len(row) == 1 for row in rows) else rows[0] for rows in (gold, answer)]
    vectors = all(len(rows) == 1 or all(len(row) == 1 for row in rows) for rows in (gold, answer))
    return vectors and len(gold) != len(answer) and _in_order(flat[0], flat[1], rules)


def _same_several(gold: Several, answer: Several, rules: Rules) -> bool:
    if gold.ordered and answer.ordered:
        if len(gold.items) == 2 and (gold.open, gold.close) != (answer.open, answer.close):
            return False  # intervals that differ in an end
        return _in_order(gold.items, answer.items, rules)
    if gold.ordered or answer.ordered:  # a list without brackets, for a point or tuple: in its order; a set is none
        bare = answer if gold.ordered else gold
        return bare.open != OPEN and _in_order(gold.items, answer.items, rules)
    return _any_order(gold.items, answer.items, rules)


def _same_relation(gold: Form, answer: Form, rules: Rules) -> bool:
    if isinstance(gold, Relation) and isinstance(answer, Relation):
        if _named(gold) and _named(answer):
            left, right = (form.sides[0].text for form in (gold, answer))
            if left == right:
                return same(gold.sides[-1], answer.sides[-1], rules)
        return _same_line(gold, answer)
    if isinstance(gold, Relation):
        if _named(gold):
            return same(gold.sides[-1], answer, rules)
        interval = _interval(gold)
        return interval is not None and same(interval, answer, rules)
    assert isinstance(answer, Relation)
    if set(answer.signs) == {"="}:
        return (_named(answer) or _consistent(answer)) and same(gold, answer.sides[-1], rules)
    interval = _interval(answer)
    return interval is not None and same(gold, interval, rules)


def _named(relation: Relation) -> bool:
    """Whether it names a value: x = 5, f(x) = 2x."""
    first = relation.sides[0]
    return set(relation.signs) == {"="} and isinstance(first, Words) and is_variable(first.text)


def _consistent(relation: Relation) -> bool:
    """Whether the sides of 9 * 2 = 18 that are numbers are the same number: what is said last is then the answer."""
    last = relation.sides[-1]
    return all(
        not isinstance(side, Quantity) or not isinstance(last, Quantity) or value.equal(last.tree, side.tree)
        for side in relation.sides
    )


def _same_line(gold: Relation, answer: Relation) -> bool:
    """Two equations or inequalities are one if their differences of sides are proportional."""
    if len(gold.signs) != len(answer.signs):
        return False
    if len(gold.signs) > 1:
        one, other = _interval(gold), _interval(answer)
        return one is not None and other is not None and same(one, other, Rules())
    one_tree, other_tree = _difference(gold), _difference(answer)
    if one_tree is None or other_tree is None:
        return False
    if gold.signs[0] in ("=", "!="):
        return gold.signs == answer.signs and value.proportional(one_tree, other_tree)
    sign = value.ratio_sign(one_tree, other_tree)
    return gold.signs[0] == (answer.signs[0] if sign > 0 else _MIRRORED[answer.signs[0]]) and sign != 0


def _difference(relation: Relation) -> Node | None:
    sides: list[Node] = []
    for side in relation.sides:
        if isinstance(side, Words) and is_variable(side.text):
            try:
                sides.append(read(side.text))
            except NotRead:
                return None
        elif isinstance(side, Quantity):
            sides.append(side.tree)
        else:
            return None
    return ("add", sides[0], ("neg", sides[1]))


def _interval(relation: Relation) -> Several | None:
    r"""The interval of x > 3 and 1 < x \le 2; None for what is none."""
    sides, signs = list(relation.sides), list(relation.signs)
    if set(signs) <= {">", ">="}:
        sides, signs = sides[::-1], [_MIRRORED[sign] for sign in signs[::-1]]
    if not set(signs) <= {"<", "<="}:
        return None
    letters = [at for at, side in enumerate(sides) if isinstance(side, Quantity) and side.tree[0] == "sym"]
    letters = [at for at in letters if sides[at].tree != _INFINITY and sides[at].tree[1] not in ("pi", "e")]
    if letters == [1] and len(sides) == 3:
        return Several(items=(sides[0], sides[2]), open=_open(signs[0]), close=_close(signs[1]))
    if letters == [0] and len(sides) == 2:
        return Several(items=(Quantity(tree=("neg", _INFINITY)), sides[1]), open="(", close=_close(signs[0]))
    if letters == [1] and len(sides) == 2:
        return Several(items=(sides[0], Quantity(tree=_INFINITY)), open=_open(signs[0]), close=")")
    return None


def _open(sign: str) -> str:
    return "[" if sign == "<=" else "("


def _close(sign: str) -> str:
    return "]" if sign == "<=" else ")"
