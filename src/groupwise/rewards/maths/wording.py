"""Whether two answers in words say the same."""

import re

_SAME = {
    word: group[0]
    for group in (
        (
            "none",
            "no solution",
            "no solutions",
            "no real solution",
            "no real solutions",
            "\\emptyset",
            "empty set",
            "empty",
        ),
        ("undefined", "does not exist", "dne", "not defined"),
        ("infinity", "\\infty", "infty", "infinite"),
        ("infinitely many", "infinitely many solutions", "infinite solutions"),
        ("all real numbers", "\\mathbb{r}", "all reals", "all real", "(-\\infty,\\infty)", "reals"),
    )
    for word in group
}
_YES_NO = re.compile(r"\b(yes|no|true|false)\b")
_SAID_FIRST = re.compile(
    r"^(yes|no|true|false)(?:$|\s*[,.;:-]|\s(?:it|they|he|she|there|this|that|these|those|because|since|as|we|you|the)\b)"
)
_CHOICE = re.compile(r"^(?:option|choice|answer)?\s*\(?\s*([a-zA-Z])\s*\)?$", re.IGNORECASE)
_CHOICE_AND_TEXT = re.compile(r"^\(?([A-Z])(?:\)|[.:](?=\s))\s*\S")
_ANOTHER = re.compile(r"\([A-Z]\)|\b[B-H]\b|\b(?:or|and)\s+[A-Z]\b")
_NOT_SAID = re.compile(r"[^\w\s\\(),{}+/.:-]")
_ARTICLES = re.compile(r"^(?:the|a|an)\s+")


def same_words(gold: str, answer: str) -> bool:
    """Case, blanks, articles and quotes aside; "No, since ..." says no; "(B)" and "B. 12" choose B."""
    if not gold or not answer:
        return False
    one, other = _fold(gold), _fold(answer)
    if one == other:
        return True
    if one in ("yes", "no", "true", "false"):
        said = _SAID_FIRST.match(other)
        return said is not None and said[1] == one and set(_YES_NO.findall(other)) == {one}
    chosen = choice(gold)
    return chosen is not None and chosen == choice(answer)


def says(text: str) -> bool:
    r"""Whether a text is a way to say one of the answers that have several, such as \emptyset."""
    return " ".join(text.casefold().split()) in _SAME


def choice(text: str) -> str | None:
    """The letter that an answer to a multiple choice chooses."""
    alone = _CHOICE.match(text.strip())
    if alone:
        return alone[1].upper()
    first = _CHOICE_AND_TEXT.match(text.strip())
    if first and not _ANOTHER.search(text.strip()[3:]):
        return first[1]
    return None


def _fold(text: str) -> str:
    folded = " ".join(_NOT_SAID.sub(" ", text.casefold()).split()).strip(" .")
    folded = _ARTICLES.sub("", folded)
    return _SAME.get(folded, _SAME.get(folded.replace(" ", ""), folded))
