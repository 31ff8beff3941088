r"""Read an expression, in LaTeX or as people type it, into a tree. Nothing is computed here, and nothing is `eval`.

A tree is a tuple: its kind, then its parts.

    ("num", Fraction, places)   a number as it is written, with how many places after the point, -1 for none
    ("sym", name)               a letter or a Greek name, perhaps with an index; also pi, e, i and infty
    ("neg", a)  ("add", a, b)  ("mul", a, b)  ("div", a, b)  ("pow", a, b)  ("mixed", a, b)
    ("call", name, a)           sqrt is a power; log with a base is a quotient
    ("fact", a)  ("binom", a, b)  ("percent", a)
"""

# ruff: noqa: SIM905  # lists of words read better as they are

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

Node = tuple[Any, ...]

TOKENS, DEPTH, DIGITS = 400, 40, 1000  # at most, of one expression


class NotRead(ValueError):  # noqa: N818  # an outcome
    """This is no expression that is known here."""


class TooLarge(ValueError):  # noqa: N818  # an outcome
    """This is over the limits: too long, too deep, or a number of too many digits."""


FUNCTIONS = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp abs floor ceil sqrt cbrt".split()
)
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan"}
_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega "
    "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega".split()
)
_CONSTANTS = {"pi": "pi", "infty": "infty", "infinity": "infty", "inf": "infty"}
_TIMES, _OVER = ("*", "\\cdot", "\\times"), ("/", "\\div")
_PAIRS = {"(": ")", "[": "]", "{": "}", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,3}(?: [0-9]{3})+(?![0-9 ]|/)|[0-9]+)(?:\.[0-9]+)?"
    r"|\.[0-9]+)"
    r"(?P<e>[eE][-+]?[0-9]{1,4}(?![0-9A-Za-z]))?"
    r"|(?P<command>\\[a-zA-Z]+)|(?P<word>[a-zA-Z]+)|(?P<sign>[-+*/^_!%()\[\]{}|']))"
)
_MIXED = re.compile(r"(?<![0-9./^_])(?<![0-9] )([0-9]+) ([0-9]+) ?/ ?([0-9]+)(?![0-9.^])")


@lru_cache(maxsize=4096)
def read(text: str) -> Node:
    """The tree of an expression. Raises NotRead or TooLarge."""
    tokens = _tokens(_MIXED.sub(r"(\1\\mixed\2/\3)", text))
    parser = _Parser(tokens)
    tree = parser.sum()
    if parser.at < len(tokens):
        raise NotRead(f"{tokens[parser.at]} in {text[:80]}")
    return tree


def names(tree: Node) -> set[str]:
    """The symbols in a tree that have no value of their own."""
    found = set()
    todo = [tree]
    while todo:
        node = todo.pop()
        if node[0] == "sym":
            found.add(node[1])
        todo += [part for part in node[1:] if isinstance(part, tuple)]
    return found - {"pi", "e", "i", "infty"}


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotRead(text[at : at + 20])
        at = match.end()
        word = match["word"]
        if word and word not in FUNCTIONS and word not in _CONSTANTS and word not in _GREEK:
            found += word
        elif word:
            found.append("\\" + word)
        else:
            found.append(match.group().strip())
        if len(found) > TOKENS:
            raise TooLarge(f"more than {TOKENS} signs")
    return found


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at, self.depth = tokens, 0, 0
        self.bars = 0  # that are open: a | then closes

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.next
        self.at += 1
        return token

    def need(self, token: str) -> None:
        if self.take() != token:
            raise NotRead(f"no {token}")

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > DEPTH:
            raise TooLarge(f"brackets more than {DEPTH} deep")
        tree = self.product()
        while self.next in ("+", "-"):
            minus = self.take() == "-"
            right = self.product()
            tree = ("add", tree, ("neg", right) if minus else right)
        self.depth -= 1
        return tree

    def product(self) -> Node:
        tree = self.signed()
        while True:
            if self.next in _TIMES:
                self.take()
                tree = ("mul", tree, self.signed())
            elif self.next in _OVER:
                self.take()
                tree = ("div", tree, self.signed())
            elif self.next == "\\mixed":
                self.take()
                above = self.power()
                self.need("/")
                tree = ("mixed", tree, ("div", above, self.power()))
            elif self.starts():
                tree = self.beside(tree)
            else:
                return tree

    def beside(self, left: Node) -> Node:
        """Two factors without a sign between them; a whole number before a fraction of numbers is a mixed number."""
        if self.next[0].isdigit() or self.next[0] == ".":
            if self.tokens[self.at - 1][0].isdigit():
                raise NotRead("two numbers in a row")
            return ("mul", left, self.power())
        minus = left[0] == "neg"
        whole = left[1] if minus else left
        mixed = self.next == "\\frac" and whole[0] == "num" and whole[2] < 0 and self.tokens[self.at - 1][0].isdigit()
        right = self.power()
        if mixed and right[0] == "div" and right[1][0] == right[2][0] == "num":
            tree: Node = ("mixed", whole, right)
            return ("neg", tree) if minus else tree
        return ("mul", left, right)

    def starts(self) -> bool:
        token = self.next
        if not token or (token == "|" and self.bars):
            return False
        return (
            token[0].isalnum()
            or token[0] == "."
            or token in ("(", "[", "{", "|")
            or (token[0] == "\\" and token not in ("\\rfloor", "\\rceil", *_TIMES, *_OVER))
        )

    def signed(self) -> Node:
        minus = False
        while self.next in ("+", "-"):
            minus ^= self.take() == "-"
        tree = self.power()
        return ("neg", tree) if minus else tree

    def power(self) -> Node:
        base = self.postfix(self.atom())
        if self.next != "^":
            return base
        self.take()
        for degrees in (["\\circ"], ["{", "\\circ", "}"]):
            if self.tokens[self.at : self.at + len(degrees)] == degrees:
                self.at += len(degrees)
                return ("div", ("mul", base, ("sym", "pi")), ("num", Fraction(180), -1))
        return self.postfix(("pow", base, self.exponent()))

    def exponent(self) -> Node:
        """One group or sign; a tower is read from the right."""
        self.depth += 1
        if self.depth > DEPTH:
            raise TooLarge(f"more than {DEPTH} deep")
        tree = self.signed()
        self.depth -= 1
        return tree

    def postfix(self, tree: Node) -> Node:
        while self.next in ("!", "%"):
            if self.take() == "%":
                tree = ("percent", tree)
            elif tree[0] == "fact" and self.tokens[self.at - 2] == "!":
                raise TooLarge("a factorial of a factorial")  # or a double factorial: no answer is that
            else:
                tree = ("fact", tree)
        return tree

    def atom(self) -> Node:
        token = self.take()
        if not token:
            raise NotRead("ends too early")
        if token[0].isdigit() or token[0] == ".":
            return self.number(token)
        if token.isalpha():
            return ("sym", token + self.index())
        if token in _PAIRS:
            inner = self.sum()
            self.need(_PAIRS[token])
            return ("call", token[2:], inner) if token[0] == "\\" else inner
        if token == "|":
            self.bars += 1
            inner = self.sum()
            self.bars -= 1
            self.need("|")
            return ("call", "abs", inner)
        if token[0] == "\\":
            return self.command(token[1:])
        raise NotRead(token)

    def number(self, token: str) -> Node:
        if len(token) > DIGITS:
            raise TooLarge(f"a number of more than {DIGITS} signs")
        if self.next == "_":
            return ("sym", token + self.index())  # in another base: itself, and nothing else
        digits = token.replace(",", "").replace(" ", "")
        places = (
            len(re.split("[eE]", digits)[0].partition(".")[2]) if "." in digits and "e" not in digits.lower() else -1
        )
        return ("num", Fraction(digits), places)

    def index(self) -> str:
        mark = ""
        while self.next == "'":
            mark += self.take()
        if self.next != "_":
            return mark
        self.take()
        if self.next != "{":
            return f"_{self.take()}{mark}"
        self.take()
        parts = []
        while self.next not in ("}", ""):
            parts.append(self.take())
        self.need("}")
        return f"_{''.join(parts)}{mark}"

    def command(self, name: str) -> Node:
        if name in _CONSTANTS:
            return ("sym", _CONSTANTS[name])
        if name in _GREEK:
            return ("sym", name + self.index())
        if name == "frac":
            above = self.group()
            return ("div", above, self.group())
        if name == "binom":
            above = self.group()
            return ("binom", above, self.group())
        if name == "sqrt":
            return self.root()
        if name in FUNCTIONS:
            return self.call(name)
        raise NotRead(f"\\{name}")

    def group(self) -> Node:
        r"""An argument of a command: {...}, or one sign, so that \frac12 is a half."""
        if self.next != "{":
            if self.next.isdigit() and len(self.next) > 1:
                first, self.tokens[self.at] = self.next[0], self.next[1:]
                return ("num", Fraction(first), -1)
            return self.atom()
        self.take()
        inner = self.sum()
        self.need("}")
        return inner

    def root(self) -> Node:
        degree: Node = ("num", Fraction(2), -1)
        if self.next == "[":
            self.take()
            degree = self.sum()
            self.need("]")
        self.depth += 1
        if self.depth > DEPTH:
            raise TooLarge(f"roots more than {DEPTH} deep")
        inner = self.group() if self.next == "{" else self.atom()
        self.depth -= 1
        return ("call", "sqrt", inner) if degree[1] == 2 else ("pow", inner, ("div", ("num", Fraction(1), -1), degree))

    def call(self, name: str) -> Node:
        base = exponent = None
        if self.next == "_":
            self.take()
            base = self.group()
        if self.next == "^":
            self.take()
            exponent = self.exponent()
            if exponent == ("neg", ("num", Fraction(1), -1)) and name in _INVERSE:
                name, exponent = _INVERSE[name], None
        tree: Node = ("call", "ln" if base else name, self.argument())
        if base is not None:
            if name not in ("log", "lg"):
                raise NotRead(f"\\{name}_")
            tree = ("div", tree, ("call", "ln", base))
        return tree if exponent is None else ("pow", tree, exponent)

    def argument(self) -> Node:
        r"""(...) or {...}, else the factors that follow, up to a sign or another function: \sin 2x \cos x."""
        self.depth += 1
        if self.depth > DEPTH:
            raise TooLarge(f"functions more than {DEPTH} deep")
        if self.next in ("(", "{", "["):
            tree = self.atom()
        else:
            tree = self.power()
            while self.starts() and self.next[1:] not in FUNCTIONS and self.next not in ("(", "["):
                tree = ("mul", tree, self.power())
        self.depth -= 1
        return tree
