"""Units: which there are, which words and signs name them, and how many of one make another."""

# ruff: noqa: SIM905  # lists of words read better as they are

import re
from fractions import Fraction

from groupwise.rewards.maths.surface import DOLLAR

_KINDS: dict[str, dict[str, str]] = {  # kind -> how many of its first unit -> the names
    "length": {
        "1": "m meter metre",
        "1000": "km kilometer kilometre",
        "1/100": "cm centimeter centimetre",
        "1/1000": "mm millimeter millimetre",
        "0.3048": "ft foot feet",
        "0.0254": "in inch inches",
        "0.9144": "yd yard",
        "1609.344": "mi mile",
    },
    "mass": {
        "1": "g gram",
        "1000": "kg kilogram",
        "1/1000": "mg milligram",
        "453.59237": "lb lbs pound",
        "1000000": "ton tonne",
    },
    "ounce": {"1": "oz ounce"},
    "time": {
        "1": "s sec second",
        "60": "min minute",
        "3600": "h hr hrs hour",
        "86400": "day",
        "604800": "week",
        "1/1000": "ms millisecond",
    },
    "months": {"1": "month", "12": "yr year"},
    "volume": {"1": "l liter litre", "1/1000": "ml milliliter millilitre"},
    "gallon": {"1": "gal gallon", "1/4": "qt quart"},
    "dollar": {"1": f"{DOLLAR} dollar usd buck", "1/100": "¢ cent"},
    "euro": {"1": "€ euro eur"},
    "pound sterling": {"1": "£ gbp"},
    "yen": {"1": "¥ yen jpy"},
    "rupee": {"1": "₹ rs rupee inr"},
    "degree": {"1": "° deg degree"},
    "celsius": {"1": "°c celsius"},
    "fahrenheit": {"1": "°f fahrenheit"},
    "radian": {"1": "rad radian"},
    "speed": {"1": "mph"},
    "speed, metric": {"1": "kmh kph kmph"},
}
_KNOWN = {
    name: (kind, Fraction(factor))
    for kind, units in _KINDS.items()
    for factor, names in units.items()
    for name in names.split()
}
_FILLING = frozenset("a an the of in total more per each about and left away old only".split())
_POWERS = {"square": 2, "squared": 2, "sq": 2, "cubic": 3, "cubed": 3, "cu": 3}
_DEGREES = re.compile(r"\^?\s*\{?\s*\\circ\s*\}?\s*([cf]?)")
_WORD = re.compile(rf"[a-z°¢€£¥₹{DOLLAR}]+")
_POWER = re.compile(r"\^\s*\{?\s*([23])\s*\}?")

SIGNS = f"€£¥₹¢{DOLLAR}"
Unit = tuple[str, Fraction]


def known(text: str) -> Unit | None:
    """A unit's kind and size, if all of the text is one: `cm^2`, `square metres`, `km/h`, `dollars per day`."""
    text = _DEGREES.sub(r"°\1", text.lower())
    above, slash, below = re.sub(r"\bper\b", "/", text).partition("/")
    one = _power_of(above)
    if not slash or one is None:
        return one
    other = _power_of(below)
    return (f"{one[0]}/{other[0]}", one[1] / other[1]) if other else None


def words(text: str) -> set[str]:
    """The words of a unit that is not known, singular."""
    return {_singular(word) for word in _WORD.findall(text.lower())} - _FILLING


def _power_of(text: str) -> Unit | None:
    power = 1
    for match in _POWER.finditer(text):
        power *= int(match[1])
    left = []
    for word in _POWER.sub(" ", text).replace(".", " ").split():
        if word in _POWERS:
            power *= _POWERS[word]
        elif word not in _FILLING:
            left.append(word)
    if len(left) != 1 or power > 3:
        return None
    unit = _KNOWN.get(left[0]) or _KNOWN.get(_singular(left[0]))
    if unit is None or power == 1:
        return unit
    kind, factor = unit
    return ("volume", 1000 * factor**3) if (kind, power) == ("length", 3) else (f"{kind}^{power}", factor**power)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 2 else word
