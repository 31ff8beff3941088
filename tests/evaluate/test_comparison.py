"""Methods over their seeds: what the means are of, what the intervals are over, and what the notes tell."""

import re

import pytest

from groupwise.evaluate.comparison import Measured, RunResult, method_results
from groupwise.evaluate.comparison_charts import charts
from groupwise.evaluate.comparison_files import markdown, notes
from groupwise.evaluate.intervals import Interval


def measured(score, kl=0.5, tokens=100):
    interval = Interval(score, score - 0.1, score + 0.1)
    return Measured(step=1, tokens=tokens, seconds=2.0, score=interval, kl=kl, length=4.0, cut_off=0.0, unjudged=0)


def result(method, seed, scores, state="finished", **more):
    start = [0.5] * len(scores)
    score = sum(scores) / len(scores)
    return RunResult(
        method=method, seed=seed, state=state, steps=3, tokens=100, seconds=2.0, start=measured(0.5, 0.0, 0),
        curve=[measured(score)], start_scores=start, scores=scores, **more,
    )  # fmt: skip


def test_a_diverged_run_is_in_no_mean_and_in_every_count():
    runs = [result("a", 0, [0.2, 0.4]), result("a", 1, [0.9, 0.9], "diverged", error="the loss is nan")]
    (found,) = method_results(runs)
    assert (found.runs, found.finished, found.diverged, found.over) == (2, 1, 1, "prompts")
    assert found.score == Interval(pytest.approx(0.3), pytest.approx(0.2), pytest.approx(0.4))
    assert "a with seed 1 diverged after 3 steps: the loss is nan" in notes(runs)
    assert "| 1 of 2, 1 diverged |" in markdown(runs)


def test_differences_are_of_the_seeds_that_both_finished():
    runs = [
        *(result("a", seed, [score, score]) for seed, score in ((0, 0.1), (1, 0.3), (2, 0.8))),
        result("b", 0, [0.4, 0.4]),
        result("b", 1, [0.6, 0.6]),
        result("b", 2, [0.0, 0.0], "unfinished"),
    ]
    b = method_results(runs)[1]
    assert b.difference == Interval(*[pytest.approx(0.3)] * 3)  # 0.4 - 0.1 and 0.6 - 0.3: the same for both seeds
    assert b.difference_over == "seeds"
    assert "Not finished: b seed 2 (3 steps so far)" in notes(runs)


def test_with_one_seed_differences_are_over_prompts_that_both_could_judge():
    runs = [result("a", 0, [0.0, 0.5, 0.2]), result("b", 0, [0.4, 0.7, 0.6])]
    b = method_results(runs)[1]
    assert (b.over, b.difference_over) == ("prompts", "prompts")
    assert b.difference.value == pytest.approx(1 / 3)


def test_a_run_that_lost_by_training_is_told():
    runs = [result("a", 0, [0.1, 0.2, 0.15]), result("b", 0, [0.9, 0.8, 0.7])]
    assert runs[0].gain.value == pytest.approx(-0.35)
    told = [note for note in notes(runs) if "ended below its start" in note]
    assert len(told) == 1
    assert told[0].startswith("a with seed 0")


def test_without_kl_there_is_no_chart_of_it():
    run = result("a", 0, [0.1, 0.2])
    greedy = RunResult(method="a", seed=0, state="finished", curve=[measured(0.5, None)], scores=run.scores)
    assert set(charts([greedy])) == {"score_tokens", "length"}
    assert set(charts([run])) == {"score_tokens", "length", "score_kl"}


def test_a_charts_bars_span_the_seeds():
    runs = [result("a", seed, [score, score]) for seed, score in ((0, 0.25), (1, 0.75))]
    text = charts(runs)["score_tokens"]
    assert "lowest and highest of 2 seeds" in text
    bars = re.findall(r"M[\d.]+ ([\d.]+)V([\d.]+)\" opacity", text)
    ticks = {label: float(y) for y, label in re.findall(r'y="([\d.]+)" text-anchor="end" >([\d.]+)<', text)}
    pixels = (ticks["0.3"] - ticks["0.7"]) / 0.4  # of a score of 1
    (low, high) = map(float, bars[-1])
    assert (low - high) / pixels == pytest.approx(0.5, abs=1e-3)
