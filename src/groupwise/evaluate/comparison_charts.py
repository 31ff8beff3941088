"""A comparison's charts: score against KL, score and length against tokens.

Points are means over the seeds that finished, with bars from the lowest seed to the highest: the table's Student's t
intervals are so wide for two or three seeds that nothing else could be seen. The score of a single run has its interval
over prompts.
"""

from collections.abc import Sequence
from statistics import fmean

from groupwise.evaluate.comparison import Measured, RunResult, starts
from groupwise.evaluate.intervals import Interval
from groupwise.evaluate.svg import Point, Series, chart, exactly


def charts(runs: Sequence[RunResult]) -> dict[str, str]:
    """Name -> SVG; that of KL where it was measured. Methods of which no run finished stand in the legends."""
    finished: dict[str, list[RunResult]] = {run.method: [] for run in runs}
    for run in runs:
        if run.end is not None:
            finished[run.method].append(run)
    curves = {name: _curve(of) for name, of in finished.items()}
    seeds = len({run.seed for run in runs})
    bars = "interval over prompts" if seeds == 1 else f"bars: lowest and highest of {seeds} seeds"
    found = {
        "score_tokens": chart(
            [
                Series(name=name, points=[Point(x=_tokens(at), y=_score(at)) for at in of])
                for name, of in curves.items()
            ],
            title=f"Held-out score against tokens ({bars})",
            x="tokens computed in training",
            y="held-out score",
        ),
        "length": chart(
            [
                Series(name=name, points=[Point(x=_tokens(at), y=_length(at)) for at in of])
                for name, of in curves.items()
            ],
            title="Length of answers against tokens" + (f" ({bars})" if seeds > 1 else ""),
            x="tokens computed in training",
            y="tokens of an answer",
        ),
    }
    ends = {name: [run.end for run in of if run.end is not None] for name, of in finished.items()}
    if any(end.kl is not None for of in ends.values() for end in of):
        before = [Point(x=exactly(0.0), y=_score(starts(runs)))] if starts(runs) else []
        drift = {name: [Point(x=_kl(of), y=_score(of))] if of else [] for name, of in ends.items()}
        found["score_kl"] = chart(
            [Series(name=name, points=points) for name, points in [*drift.items(), ("(start)", before)]],
            title=f"Held-out score against KL ({bars})",
            x="KL to the starting model, nats of an answer",
            y="held-out score",
        )
    return found


def _curve(runs: Sequence[RunResult]) -> list[tuple[Measured, ...]]:
    """From the start on, the measurements that all runs have, and the last one of each: run by run at each of them."""
    curves = [[*([run.start] if run.start else []), *run.curve] for run in runs]
    shortest = min(map(len, curves), default=0)
    return list(zip(*([*curve[: shortest - 1], curve[-1]] for curve in curves), strict=True)) if shortest else []


def _score(measured: Sequence[Measured]) -> Interval:
    return measured[0].score if len(measured) == 1 else _spread([m.score.value for m in measured])


def _length(measured: Sequence[Measured]) -> Interval:
    return _spread([m.length for m in measured])


def _kl(measured: Sequence[Measured]) -> Interval:
    return _spread([m.kl for m in measured if m.kl is not None])


def _tokens(measured: Sequence[Measured]) -> Interval:
    return exactly(fmean(m.tokens for m in measured))


def _spread(values: Sequence[float]) -> Interval:
    """Mean, least and most."""
    return Interval(fmean(values), min(values), max(values))
