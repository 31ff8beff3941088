"""Charts as plain SVG text: points and lines with error bars, axes with ticks, a legend."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10

from groupwise.errors import ConfigError
from groupwise.evaluate.intervals import Interval

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c6d31")  # Okabe and Ito
WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 36, 52  # margins around the axes, in pixels


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A place in the chart; an interval is drawn as an error bar."""

    x: Interval
    y: Interval


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """Points of one kind, joined by a line if there are several."""

    name: str
    points: Sequence[Point]


def exactly(value: float) -> Interval:
    """A value without an error bar."""
    return Interval(value, value, value)


def chart(series: Sequence[Series], *, title: str, x: str, y: str) -> str:
    """An SVG document. A series keeps its colour and mark by its place; without points it stands in the legend only.

    Raises ConfigError for numbers that are not finite.
    """
    points = [point for one in series for point in one.points]
    across = _Axis.over([i for point in points for i in (point.x.low, point.x.high)], LEFT, WIDTH - RIGHT)
    up = _Axis.over([i for point in points for i in (point.y.low, point.y.high)], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="{escape(title)}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text((LEFT + WIDTH - RIGHT) / 2, 20, title, "middle", 'font-size="14" font-weight="bold"'),
        *_frame(across, up, x, y),
    ]
    for place, one in enumerate(series):
        parts += _drawn(one, place, across, up, spacing=min(18.0, (HEIGHT - TOP - BOTTOM) / len(series)))
    return "\n".join([*parts, "</svg>\n"])


@dataclass(frozen=True, slots=True)
class _Axis:
    """Values to pixels, over a range that ends at ticks."""

    ticks: Sequence[float]
    start: float  # pixel of the first tick
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> "_Axis":
        if not all(map(isfinite, values)):
            raise ConfigError(f"a chart of {next(v for v in values if not isfinite(v))}: give finite numbers")
        low, high = min(values, default=0.0), max(values, default=1.0)
        if high - low <= 1e-9 * max(abs(low), abs(high)):
            low, high = low - (abs(low) / 2 or 0.5), high + (abs(high) / 2 or 0.5)
        rough = (high - low) / 5
        power = 10.0 ** floor(log10(rough))
        step = power * next(size for size in (1, 2, 5, 10) if size * power >= rough * 0.999)
        first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
        return cls([n * step for n in range(first, last + 1)], start, end)

    def at(self, value: float) -> float:
        share = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return round(self.start + share * (self.end - self.start), 2)


def _frame(across: _Axis, up: _Axis, x: str, y: str) -> Iterator[str]:
    left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
    for tick in across.ticks:
        at = across.at(tick)
        yield f'<path d="M{at} {top}V{bottom + 5}" stroke="#dddddd"/>'
        yield _text(at, bottom + 18, _number(tick), "middle")
    for tick in up.ticks:
        at = up.at(tick)
        yield f'<path d="M{left - 5} {at}H{right}" stroke="#dddddd"/>'
        yield _text(left - 8, at + 4, _number(tick), "end")
    yield f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="black"/>'
    yield _text((left + right) / 2, HEIGHT - 12, x, "middle")
    middle = (top + bottom) / 2
    yield _text(16, middle, y, "middle", f'transform="rotate(-90 16 {middle})"')


def _drawn(one: Series, place: int, across: _Axis, up: _Axis, *, spacing: float) -> Iterator[str]:
    """A series with its line of the legend."""
    colour, kind = COLOURS[place % len(COLOURS)], place // len(COLOURS)
    yield f'<g stroke="{colour}" fill="{colour}"><title>{escape(one.name)}</title>'
    if len(one.points) > 1:
        corners = " ".join(f"{across.at(p.x.value)},{up.at(p.y.value)}" for p in one.points)
        yield f'<polyline points="{corners}" fill="none" stroke-width="1.5"/>'
    for p in one.points:
        x, y = across.at(p.x.value), up.at(p.y.value)
        if p.x.low < p.x.high:
            yield f'<path d="M{across.at(p.x.low)} {y}H{across.at(p.x.high)}" opacity="0.5"/>'
        if p.y.low < p.y.high:
            yield f'<path d="M{x} {up.at(p.y.low)}V{up.at(p.y.high)}" opacity="0.5"/>'
        yield _mark(x, y, kind)
    at = round(TOP + 12 + spacing * place, 2)
    yield _mark(WIDTH - RIGHT + 20, at, kind)
    yield "</g>"
    yield _text(WIDTH - RIGHT + 32, at + 4, one.name if one.points else f"{one.name} (none)", "start")


def _mark(x: float, y: float, kind: int) -> str:
    """A circle for the first eight series, then squares, triangles and diamonds."""
    if kind == 0:
        return f'<circle cx="{x}" cy="{y}" r="4"/>'
    shape = ("m-4 -4h8v8h-8z", "m0 -5l5 9h-10z", "m0 -5l5 5l-5 5l-5 -5z")[(kind - 1) % 3]
    return f'<path d="M{x} {y}{shape}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" {more}>{escape(text)}</text>'


def _number(value: float) -> str:
    return "0" if abs(value) < 1e-12 else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
