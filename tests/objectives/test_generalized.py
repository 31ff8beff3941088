"""The generalised form: its own formula in a slow loop, and the methods that it contains, equal in gradient."""

import math
import re
import warnings
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Need
from groupwise.errors import ConfigError
from groupwise.objectives import DPO, GRPO, SFT
from groupwise.objectives.best_of_n import BestOfN
from groupwise.objectives.generalized import Generalized
from groupwise.objectives.plackett_luce import PlackettLuce
from groupwise.objectives.rloo import RLOO
from objectives.plain import (
    SEEDS,
    SIZES,
    Row,
    clipped,
    groups_of,
    logistic,
    loss_of,
    mean,
    normalized,
    pairs_of,
    push_of,
    some,
    standardized,
    stats_of,
    step,
    table,
)

LENGTHS = st.sampled_from([("sum", 1.0), ("mean", 1.0), ("power", 0.5), ("linear", 0.1)])
GROUPS = st.lists(st.integers(1, 4), min_size=1, max_size=3)


def assert_equal_push(ours: Generalized, other, c: Candidates) -> None:
    torch.testing.assert_close(push_of(ours, c), push_of(other, c), rtol=1e-12, atol=1e-14)


# The methods that it contains


@some
@given(seed=SEEDS, groups=st.integers(1, 4), beta=st.sampled_from([0.1, 2.0]), length=LENGTHS)
def test_pairwise_of_two_is_dpo(seed, groups, beta, length):
    fields = {"beta": beta, "length": length[0], "alpha": length[1]}
    c = step(seed, [2] * groups)
    assert_equal_push(Generalized(weights="pairwise", kl_coef=0.0, **fields), DPO(**fields), c)


@some
@given(seed=SEEDS, sizes=SIZES)
def test_gold_weights_are_sft_on_the_gold_rows(seed, sizes):
    """Scores 1 and 0. A mean over completions counts the others too; a mean over groups of one gold row each not."""
    c = step(seed, sizes, unjudged=0)
    gold = torch.zeros_like(c.score)
    for g in c.group.unique():
        gold[(c.group == g).nonzero()[0]] = 1
    ours = Generalized(weights="score", length="mean", kl_coef=0.0)
    c, alone = replace(c, score=gold), replace(c, score=gold.masked_fill(gold == 0, torch.nan))
    assert_equal_push(ours, SFT(per="completion"), alone)
    pushes = push_of(ours, c)
    assert pushes[gold == 0].count_nonzero() == 0
    torch.testing.assert_close(pushes, push_of(SFT(per="completion"), alone), rtol=1e-12, atol=0)


@some
@given(seed=SEEDS, sizes=SIZES, clip=st.sampled_from([(0.2, 0.2), (0.1, 0.28)]), kl=st.sampled_from([0.0, 0.04]))
def test_standardized_and_clipped_on_old_is_grpo(seed, sizes, clip, kl):
    fields = {"clip_low": clip[0], "clip_high": clip[1], "kl_coef": kl}
    c, ours = step(seed, sizes), {"weights": "standardized", "surrogate": "clipped", "length": "mean"}
    assert_equal_push(Generalized(**ours, **fields, per="completion"), GRPO(**fields), c)
    ours.pop("length")
    assert_equal_push(Generalized(**ours, **fields, per="token"), GRPO(**fields, per="token"), c)


@some
@given(seed=SEEDS, sizes=SIZES, beta=st.sampled_from([0.1, 2.0]), length=LENGTHS)
def test_plackett_luce_weights_are_the_listwise_objective(seed, sizes, beta, length):
    fields = {"beta": beta, "length": length[0], "alpha": length[1]}
    c = step(seed, sizes)
    assert_equal_push(Generalized(weights="plackett_luce", kl_coef=0.0, **fields), PlackettLuce(**fields), c)


@some
@given(seed=SEEDS, sizes=SIZES, k=st.integers(1, 3))
def test_top_k_is_best_of_n_and_leave_one_out_is_rloo_on_own_samples(seed, sizes, k):
    c = replace(step(seed, sizes), logp_old=None)
    assert_equal_push(Generalized(weights="top_k", k=k, length="mean", kl_coef=0.0), BestOfN(k=k), c)
    assert_equal_push(Generalized(weights="leave_one_out", per="completion", kl_coef=0.0), RLOO(), c)


# Its own formula


def weights_loop(name: str, rows: list[Row], S: list[float], objective: Generalized) -> list[float]:
    r, K = [row.score for row in rows], len(rows)
    if name == "score":
        return r
    if name == "softmax":
        total = sum(math.exp(objective.beta * x) for x in r)
        return [math.exp(objective.beta * x) / total for x in r]
    if name == "listwise":
        return [math.exp(s) / sum(map(math.exp, S)) for s in S]
    if len(set(r)) == 1:
        return [0.0] * K
    if name == "pairwise":
        w = [0.0] * K
        for i in range(K):
            for j in range(K):
                if r[i] > r[j]:
                    w[i] += objective.beta * logistic(S[j] - S[i])
                    w[j] -= objective.beta * logistic(S[j] - S[i])
        return w
    if name == "top_k":
        places = [1 / min(objective.k, K)] * min(objective.k, K)
        places += [-objective.rho / (K - objective.k)] * (K - objective.k)
        above = [sum(x > y for x in r) for y in r]
        return [mean(places[a : a + r.count(y)]) for a, y in zip(above, r, strict=True)]
    return {"centered": [x - mean(r) for x in r], "standardized": standardized(r)}[name]


def generalized_loop(c: Candidates, o: Generalized) -> float:
    terms, kls, signal = [], [], []
    for rows in groups_of(c):
        S = [o.beta * normalized(row.h, row.T, o.length, o.alpha) for row in rows]
        total = 0.0
        for row, w in zip(rows, weights_loop(o.weights, rows, S, o), strict=True):
            anchor = row.old if o.anchor == "old" else row.ref
            f = [
                clipped(math.exp(p - q), w, o.clip_low, o.clip_high) if o.surrogate == "clipped" else w * p
                for p, q in zip(row.logp, anchor, strict=True)
            ]
            total += normalized(sum(f), row.T, o.length, 0.0 if o.length == "linear" else o.alpha)
            kls.append(mean(math.exp(q - p) - 1 + p - q for p, q in zip(row.logp, row.ref, strict=True)))
        terms.append(total)
        signal.append(bool(pairs_of(rows)))
    if o.weights not in ("score", "softmax", "listwise"):
        terms = [term for term, with_pair in zip(terms, signal, strict=True) if with_pair]
    return -mean(terms) + o.kl_coef * mean(kls)


@some
@given(
    seed=SEEDS,
    sizes=SIZES,
    weights=st.sampled_from(
        ["pairwise", "top_k", "top_k2", "score", "softmax", "listwise", "centered", "standardized"]
    ),
    surrogate=st.sampled_from([{}, {"surrogate": "clipped"}, {"surrogate": "clipped", "anchor": "reference"}]),
    length=LENGTHS,
    kl_coef=st.sampled_from([0.0, 0.05]),
)
def test_against_a_loop(seed, sizes, weights, surrogate, length, kl_coef):
    c = step(seed, sizes)
    fields = {"k": 2, "rho": 0.5} if weights == "top_k2" else {}
    fields |= {"beta": 0.7} if weights in ("pairwise", "softmax", "listwise") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # listwise reads no score
        objective = Generalized(
            weights=weights.removesuffix("2"),
            length=length[0],
            alpha=length[1],
            kl_coef=kl_coef,
            **surrogate,
            **fields,
        )
    assert loss_of(objective, c) == pytest.approx(generalized_loop(c, objective), rel=1e-10, abs=1e-12)


@some
@given(seed=SEEDS, sizes=SIZES, length=LENGTHS)
def test_the_push_is_the_weight_over_the_length(seed, sizes, length):
    """Weights made of the policy's own scores are detached: the push on a token is w_i and nothing of dw_i."""
    c, pushes = step(seed, sizes), {}
    objective = Generalized(weights="pairwise", beta=0.7, kl_coef=0.0, length=length[0], alpha=length[1])
    paired = [rows for rows in groups_of(c) if pairs_of(rows)]
    for rows in paired:
        S = [0.7 * normalized(row.h, row.T, *length) for row in rows]
        for row, w in zip(rows, weights_loop("pairwise", rows, S, objective), strict=True):
            of_token = normalized(1.0, row.T, length[0], 0.0 if length[0] == "linear" else length[1])
            pushes |= {(row.place, t): w * of_token / len(paired) for t in row.at}
    torch.testing.assert_close(push_of(objective, c), table(c, pushes), rtol=1e-11, atol=1e-14)


def test_statistics_by_hand():
    c = Candidates(
        logp=torch.tensor([[-1.0, -1.0], [-2.0, 0.0]], dtype=torch.float64),
        logp_old=torch.tensor([[-3.0, -1.0], [-2.0, 0.0]], dtype=torch.float64),
        logp_ref=torch.tensor([[-1.0, -1.0], [-2.0 + math.log(3), 0.0]], dtype=torch.float64),
        mask=torch.tensor([[True, True], [True, False]]),
        group=torch.zeros(2, dtype=torch.long),
        score=torch.tensor([2.0, 1.0], dtype=torch.float64),
    )
    stats = stats_of(Generalized(weights="score", surrogate="clipped"), c)
    assert stats == pytest.approx({"weight": 5 / 3, "clip_fraction": 1 / 3, "kl_ref": (3 - 1 - math.log(3)) / 3})


def test_listwise_weights_warn_that_they_read_no_score():
    with pytest.warns(UserWarning, match="reads no score"):
        Generalized(weights="listwise")


@pytest.mark.parametrize(
    ("fields", "needs"),
    [
        ({}, Need.REF),
        ({"kl_coef": 0.0}, Need.REF),  # pairwise weights are of the implicit rewards
        ({"kl_coef": 0.0, "weights": "score"}, Need.NONE),
        ({"weights": "score"}, Need.REF),
        ({"kl_coef": 0.0, "weights": "score", "surrogate": "clipped"}, Need.OLD),
        ({"kl_coef": 0.0, "weights": "score", "surrogate": "clipped", "anchor": "reference"}, Need.REF),
        ({"surrogate": "clipped"}, Need.OLD | Need.REF),
    ],
)
def test_needs_follow_the_settings(fields, needs):
    assert Generalized(**fields).needs == needs


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beta": 0.0}, "generalized.beta = 0.0, must be above 0 and finite"),
        ({"kl_coef": -0.1}, "generalized.kl_coef = -0.1, must be 0 or more and finite"),
        ({"rho": -0.1, "weights": "top_k"}, "generalized.rho = -0.1, must be 0 or more"),
        ({"clip_low": -0.1, "surrogate": "clipped"}, "generalized.clip_low = -0.1, must be 0 or more"),
        ({"clip_high": -0.1, "surrogate": "clipped"}, "generalized.clip_high = -0.1, must be 0 or more"),
        ({"k": 0, "weights": "top_k"}, "generalized.k = 0, must be 1 or more"),
        ({"k": 2}, 'generalized.k = 2 has no effect with weights="pairwise"'),
        ({"rho": 0.5}, 'generalized.rho = 0.5 has no effect with weights="pairwise"'),
        ({"anchor": "reference"}, "generalized.anchor = 'reference' has no effect with surrogate=\"log_prob\""),
        ({"clip_low": 0.1}, 'generalized.clip_low = 0.1 has no effect with surrogate="log_prob"'),
        ({"clip_high": 0.1}, 'generalized.clip_high = 0.1 has no effect with surrogate="log_prob"'),
        ({"beta": 0.1, "weights": "score"}, 'generalized.beta = 0.1 has no effect with weights="score"'),
        ({"kl": "k2", "kl_coef": 0.0}, "generalized.kl = 'k2' has no effect with kl_coef=0"),
        (
            {"length": "mean", "per": "token", "weights": "score"},
            "generalized.length = 'mean' has no effect with per=\"token\"",
        ),
        ({"alpha": 0.5}, 'generalized.alpha = 0.5 has no effect with length="sum"'),
    ],
)
def test_settings_out_of_range_or_without_effect_are_refused(fields, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        Generalized(**fields)
