"""What runs of several methods came to, read from their run directories, and each method over its seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from groupwise.evaluate.intervals import Interval, clustered_mean, paired_difference
from groupwise.runs.read import RunView, read_run
from groupwise.runs.schema import STATUS

BEFORE, SCORES = "before_training", "heldout_scores"  # kinds of events: measurements of the start, scores by prompt

Over = Literal["seeds", "prompts"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A held-out measurement, and what training had cost by then."""

    step: int  # steps done
    tokens: int  # computed in them
    seconds: float  # spent in them: sampling, rewards, forward and backward; no loading, no held-out measurement
    score: Interval  # over prompts
    kl: float | None  # to the starting model for each completion: mean of sum_t logp - logp_start
    length: float  # tokens a completion
    cut_off: float  # share that reached max_new_tokens
    unjudged: int  # completions without a score: in no mean


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """A run of a method with a seed."""

    method: str
    seed: int
    state: Literal["finished", "diverged", "unfinished"]
    error: str | None = None  # what it failed with
    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0
    start: Measured | None = None
    curve: Sequence[Measured] = ()  # during and after training
    start_scores: Sequence[float | None] = ()  # of the starting model: a prompt's mean; None: could not be judged
    scores: Sequence[float | None] = ()  # of the trained model, in the same order

    @property
    def end(self) -> Measured | None:
        """The measurement after training."""
        return self.curve[-1] if self.curve and self.state == "finished" else None

    @property
    def gain(self) -> Interval | None:
        """Of the score over the start's, on the same prompts; None unless it finished."""
        scores = [
            (a, b) for a, b in zip(self.start_scores, self.scores, strict=False) if a is not None and b is not None
        ]
        if self.end is None or len(scores) < 2:
            return None
        return paired_difference([a for a, _ in scores], [b for _, b in scores])


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodResult:
    """A method over its runs. Means are over those that finished; the others are counted beside them."""

    method: str
    runs: int
    finished: int
    diverged: int
    over: Over | None  # what the intervals are over: seeds (Student's t) or, with one finished run, its prompts
    score: Interval | None = None
    difference: Interval | None = None  # of the score to the first method's: of the same seeds, paired
    difference_over: Over | None = None
    kl: Interval | None = None
    length: Interval | None = None
    steps: float | None = None
    tokens: float | None = None
    seconds: float | None = None


def run_result(directory: Path, method: str, seed: int) -> RunResult:
    """What the run in `directory` came to; "unfinished" where there is none, or it can be gone on with."""
    if not (directory / STATUS).is_file():
        return RunResult(method=method, seed=seed, state="unfinished")
    run = read_run(directory)
    spent = _spent(run)
    events = {(e.kind, e.details.get("after", 0)): e.details for e in run.events() if e.kind in (BEFORE, SCORES)}
    curve = [
        _measured(record, *spent[record["step"]])
        for record in run.metrics()
        if record.get("heldout/score") is not None and record["step"] in spent
    ]
    before = events.get((BEFORE, 0))
    steps, tokens, seconds = max(spent.values(), default=(0, 0, 0.0))
    return RunResult(
        method=method,
        seed=seed,
        state=_state(run),
        error=run.status.error.message if run.status.error else None,
        steps=steps,
        tokens=tokens,
        seconds=seconds,
        start=_measured(before, 0, 0, 0.0) if before else None,
        curve=curve,
        start_scores=events.get((SCORES, 0), {}).get("scores", ()),
        scores=events.get((SCORES, steps), {}).get("scores", ()) if steps else (),
    )


def method_results(runs: Sequence[RunResult]) -> list[MethodResult]:
    """Each method over its seeds, in the order of the runs; the first one is what the others are compared with."""
    by_method: dict[str, list[RunResult]] = {}
    for run in runs:
        by_method.setdefault(run.method, []).append(run)
    first = next(iter(by_method.values()), [])
    return [_method_result(name, found, first) for name, found in by_method.items()]


def starts(runs: Sequence[RunResult]) -> list[Measured]:
    """Measurements of the distinct starting models: one, or one a seed where each run makes its own."""
    by_seed = {run.seed: run.start for run in runs if run.start}
    return list({start.score: start for start in by_seed.values()}.values())


def over_seeds(values: Sequence[float]) -> Interval:
    """Mean with Student's t interval over seeds, 95 %; of one value the value alone."""
    if len(values) == 1:
        return Interval(values[0], values[0], values[0])
    return clustered_mean([[value] for value in values])


def _method_result(name: str, runs: Sequence[RunResult], first: Sequence[RunResult]) -> MethodResult:
    finished = [run for run in runs if run.end is not None]
    ends = [run.end for run in finished if run.end is not None]
    diverged = sum(run.state == "diverged" for run in runs)
    if not ends:
        return MethodResult(method=name, runs=len(runs), finished=0, diverged=diverged, over=None)
    difference, difference_over = _difference(first, finished) if runs is not first else (None, None)
    kls = [end.kl for end in ends if end.kl is not None]
    return MethodResult(
        method=name,
        runs=len(runs),
        finished=len(ends),
        diverged=diverged,
        over="prompts" if len(ends) == 1 else "seeds",
        score=ends[0].score if len(ends) == 1 else over_seeds([end.score.value for end in ends]),
        difference=difference,
        difference_over=difference_over,
        kl=over_seeds(kls) if kls else None,
        length=over_seeds([end.length for end in ends]),
        steps=fmean(run.steps for run in finished),
        tokens=fmean(run.tokens for run in finished),
        seconds=fmean(run.seconds for run in finished),
    )


def _difference(first: Sequence[RunResult], runs: Sequence[RunResult]) -> tuple[Interval | None, Over | None]:
    """Of the score to the first method's, over the seeds that both finished; of one such seed over its prompts."""
    base = {run.seed: run for run in first if run.end is not None}
    both = [(base[run.seed], run) for run in runs if run.seed in base]
    scores = [(a.end.score.value, b.end.score.value) for a, b in both if a.end and b.end]
    if len(both) > 1:
        return paired_difference([a for a, _ in scores], [b for _, b in scores]), "seeds"
    prompts = [(a, b) for x, y in both for a, b in zip(x.scores, y.scores, strict=True) if None not in (a, b)]
    if len(prompts) < 2:
        return None, None
    return paired_difference([a or 0.0 for a, _ in prompts], [b or 0.0 for _, b in prompts]), "prompts"


def _state(run: RunView) -> Literal["finished", "diverged", "unfinished"]:
    if run.state == "finished":
        return "finished"
    error = run.status.error if run.state == "failed" else None
    if error is None:
        return "unfinished"
    not_numbers = error.type == "ModelError" and run.status.step > 0  # at step 0 it is a model that cannot be loaded
    return "diverged" if error.type == "TrainingError" or not_numbers else "unfinished"


def _spent(run: RunView) -> dict[int, tuple[int, int, float]]:
    """step -> (steps, tokens, seconds) up to it."""
    found: dict[int, tuple[int, int, float]] = {}
    tokens, seconds = 0, 0.0
    for count, record in enumerate(run.metrics(), start=1):
        tokens += int(record.get("tokens/computed") or 0)
        seconds += sum(value or 0.0 for name, value in record.items() if name.startswith("seconds/"))
        found[record["step"]] = (count, tokens, seconds)
    return found


def _measured(values: Mapping[str, Any], step: int, tokens: int, seconds: float) -> Measured:
    kl = values.get("heldout/kl_completion")
    score, low, high = (values[f"heldout/{name}"] for name in ("score", "score_low", "score_high"))
    return Measured(
        step=step,
        tokens=tokens,
        seconds=seconds,
        score=Interval(score, low, high),
        kl=kl,
        length=values["heldout/length"],
        cut_off=values["heldout/cut_off"],
        unjudged=int(values["heldout/unjudged"]),
    )
