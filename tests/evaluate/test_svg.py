"""Charts: what stands in the document, where a value lands, and what cannot be drawn."""

import xml.etree.ElementTree as ElementTree

import pytest

from groupwise.errors import ConfigError
from groupwise.evaluate.intervals import Interval
from groupwise.evaluate.svg import HEIGHT, Point, Series, chart, exactly

NS = "{http://www.w3.org/2000/svg}"


def drawn(*series):
    return ElementTree.fromstring(chart(series, title="a < b", x="tokens", y="score"))


def texts(root):
    return [text.text for text in root.iter(f"{NS}text")]


def test_a_line_with_error_bars_and_its_legend():
    points = [Point(x=exactly(n), y=Interval(n / 10, n / 10 - 0.05, n / 10 + 0.05)) for n in range(3)]
    root = drawn(Series(name="dpo & co", points=points), Series(name="grpo", points=()))
    found = texts(root)
    assert found[0] == "a < b"
    assert {"tokens", "score", "dpo & co", "grpo (none)", "0", "2"} <= {*found}
    group = next(root.iter(f"{NS}g"))
    assert len(group.find(f"{NS}polyline").get("points").split()) == 3
    assert len(group.findall(f"{NS}circle")) == 3 + 1  # one in the legend
    assert len(group.findall(f"{NS}path")) == 3  # vertical error bars only


def test_values_land_between_the_ticks_around_them():
    root = drawn(
        Series(name="a", points=[Point(x=exactly(3.0), y=exactly(-2.0)), Point(x=exactly(7.0), y=exactly(4.0))])
    )
    place = {text.text: text for text in root.iter(f"{NS}text")}
    low, high = (float(place[tick].get("y")) for tick in ("-2", "4"))
    marks = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{NS}circle")]
    assert marks[0][1] == pytest.approx(low - 4)  # a tick's text stands 4 pixels below its line
    assert marks[1][1] == pytest.approx(high - 4)
    assert marks[0][0] == pytest.approx(float(place["3"].get("x")))


@pytest.mark.parametrize("value", [0.0, -1e-3, 5e7])
def test_a_single_value_has_an_axis(value):
    root = drawn(Series(name="a", points=[Point(x=exactly(value), y=exactly(value))]))
    marks = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{NS}circle")]
    assert all(0 < y < HEIGHT for _, y in marks)


def test_more_series_than_colours_are_told_apart_by_their_marks_and_fit():
    root = drawn(*(Series(name=f"m{n}", points=[Point(x=exactly(n), y=exactly(n))]) for n in range(30)))
    kinds = {(g.get("fill"), len(g.findall(f"{NS}circle")) > 0) for g in root.iter(f"{NS}g")}
    assert len(kinds) == 16
    assert all(0 < float(text.get("y")) < HEIGHT for text in root.iter(f"{NS}text"))


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(ConfigError, match="a chart of inf"):
        drawn(Series(name="a", points=[Point(x=exactly(float("inf")), y=exactly(0.0))]))


def test_nothing_is_a_chart_too():
    assert "score" in texts(drawn())
