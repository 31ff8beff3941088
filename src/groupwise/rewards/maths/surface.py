r"""One writing for what is written in many ways: Unicode's odds, LaTeX's spacing and text commands, markdown."""

# ruff: noqa: RUF001, SIM905  # the signs that look alike are what this is about

import re
import unicodedata

OPEN, CLOSE = "\ue000", "\ue001"  # the braces of a set, \{ and \}; plain braces only group
DOLLAR = "\ue002"  # of money; a $ around mathematics is dropped

_SUPER = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱ", "0123456789+-ni")
_SUB = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋ₙ", "0123456789+-n")
_SUPERS = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱ]+")
_SUBS = re.compile("[₀₁₂₃₄₅₆₇₈₉₊₋ₙ]+")
_VULGAR = re.compile("[¼-¾⅐-⅞]")
_SIGNS = {
    **dict.fromkeys("−–—‐‑‒﹣", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2005\u2007\u2009\u200a\u202f\u205f\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
    **dict.fromkeys("⁄∕", "/"),
    **dict.fromkeys("’′", "'"),
    "×": r"\times ",
    "✕": r"\times ",
    "÷": r"\div ",
    "·": r"\cdot ",
    "⋅": r"\cdot ",
    "∙": r"\cdot ",
    "∗": "*",
    "∞": r"\infty ",
    "√": r"\sqrt ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "≠": r"\ne ",
    "≈": r"\approx ",
    "∪": r"\cup ",
    "∩": r"\cap ",
    "∈": r"\in ",
    "∅": r"\emptyset ",
    "±": r"\pm ",
    "∓": r"\mp ",
    "°": r"^\circ ",
    "º": r"^\circ ",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    **{
        sign: f"\\{name} "
        for sign, name in zip(
            "πθαβγδελμρστφωΔΩ",
            "pi theta alpha beta gamma delta epsilon lambda mu rho sigma tau phi omega Delta Omega".split(),
            strict=True,
        )
    },
}
_TABLE = str.maketrans(_SIGNS)

_SPACES = re.compile(r"(?<!\\)\\(?:[,;:> ]|quad(?![a-zA-Z])|qquad(?![a-zA-Z]))|~|\\\\(?=\s*$)")
_NOTHING = re.compile(
    r"(?<!\\)\\!|\\(?:left|right)(?![a-zA-Z])\.?|\\[bB]igg?[lrm]?(?![a-zA-Z])"
    r"|\\(?:display|text|script)style(?![a-zA-Z])|\\(?:limits|nolimits|boldmath)(?![a-zA-Z])"
)
_TEXT = re.compile(
    r"\\(?:text(?:bf|it|rm|normal|sf|tt)?|mbox|hbox|math(?:rm|it|bf|sf|tt|normal)|operatorname\*?|bold(?:symbol)?|bm)"
    r"\s*\{([^{}]*)\}"
)
_RENAMED = {
    r"\dfrac": r"\frac",
    r"\tfrac": r"\frac",
    r"\cfrac": r"\frac",
    r"\dbinom": r"\binom",
    r"\tbinom": r"\binom",
    r"\leqslant": r"\le ",
    r"\geqslant": r"\ge ",
    r"\leq": r"\le ",
    r"\geq": r"\ge ",
    r"\neq": r"\ne ",
    r"\lt": "<",
    r"\gt": ">",
    r"\lbrace": OPEN,
    r"\rbrace": CLOSE,
    r"\lbrack": "[",
    r"\rbrack": "]",
    r"\lvert": "|",
    r"\langle": "(",
    r"\rangle": ")",
    r"\rvert": "|",
    r"\vert": "|",
    r"\mid": "|",
    r"\degree": r"^\circ ",
    r"\varnothing": r"\emptyset ",
    r"\colon": ":",
    r"\slash": "/",
    r"\ast": "*",
    r"\centerdot": r"\cdot ",
    r"\land": " and ",
    r"\wedge": " and ",
    r"\lor": " or ",
    r"\vee": " or ",
    r"\varepsilon": r"\epsilon ",
    r"\varphi": r"\phi ",
    r"\imath": "i",
    r"\tan^{-1}": r"\arctan ",
    r"\bigcup": r"\cup ",
    r"\backslash": r"\setminus ",
}
_COMMAND = re.compile(r"\\[a-zA-Z]+")
_MARKS = re.compile(r"^(?:\*\*|__|[*`#\s])+|(?:(?<!\\)\*\*|__|[*`\s])+$")
_TWICE = re.compile(r"\\\\(?=[a-zA-Z()\[\]{}!,;$%])")  # a backslash that was escaped once too often
_STARS = re.compile(r"(?<=[\w)])\*\*(?=[-\w(])")  # a power in Python's writing
_DELIMITERS = re.compile(r"(?<!\\)\\[()\[\]]")


def plain_signs(text: str) -> str:
    """Unicode's digits, signs and blanks as ASCII, or as LaTeX commands where ASCII has none."""
    if text.isascii():
        return text
    text = _VULGAR.sub(_fraction, text)
    text = _SUPERS.sub(lambda match: "^{" + match.group().translate(_SUPER) + "}", text)
    text = _SUBS.sub(lambda match: "_{" + match.group().translate(_SUB) + "}", text)
    text = unicodedata.normalize("NFKC", text.translate(_TABLE)).translate(_TABLE)
    return "".join(str(unicodedata.decimal(c)) if c > "\x7f" and c.isdecimal() else c for c in text)


def clean(text: str) -> str:
    """A short answer without what does not change its meaning: delimiters, spacing, fonts, a final point."""
    text = plain_signs(text)
    if "\\begin" not in text:
        text = _TWICE.sub(r"\\", text)
    text = text.replace("\\$", DOLLAR).replace("\\%", "%").replace("\\#", "#").replace("\\&", "&").replace("\\_", "_")
    if text.count("$") % 2:  # not a pair around mathematics
        text = re.sub(r"\$(?=\s*-?[0-9.])", DOLLAR, text)
    else:
        text = re.sub(r"^\s*(-?)\$(?=[0-9.,]+\s*(?:[a-z]|$))(?!.*\$\s*$)", r"\1" + DOLLAR, text)
    text = text.replace("$", " ")
    text = text.replace("\\{", OPEN).replace("\\}", CLOSE)
    text = _DELIMITERS.sub(" ", text)
    text = _NOTHING.sub("", _SPACES.sub(" ", text.replace("\\%", "%")))
    for _ in range(4):  # fonts inside fonts
        fonts = _TEXT.sub(r" \1 ", text)
        if fonts == text:
            break
        text = fonts
    text = _COMMAND.sub(lambda match: _RENAMED.get(match.group(), match.group()), text)
    text = _STARS.sub("^", text.replace("{,}", ","))
    text = " ".join(_MARKS.sub("", text).split())
    while text and text[-1] in ".,;:" and not text.endswith("..."):
        text = text[:-1].rstrip()
    return _MARKS.sub("", text)


def _fraction(match: "re.Match[str]") -> str:
    above, _, below = unicodedata.normalize("NFKC", match.group()).partition("\u2044")
    return f" {above}/{below} " if below else match.group()
