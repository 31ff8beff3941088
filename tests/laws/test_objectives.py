"""What holds for every objective: one list of all of them, and the laws that each must keep."""

import math
import pickle
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Literal, get_origin

import jaxtyping
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.candidates import Candidates, Mean, Need, implied_weights
from groupwise.errors import ConfigError
from groupwise.registry import find_objective, objective_names
from laws.cases import CASES, DETACHED, EQUAL_SCORES_TEACH, NEEDED, Case, step

COMPARING = [case for case in CASES if not case.marks & EQUAL_SCORES_TEACH]
SCORING = [case for case in CASES if case.reads_score]
every = pytest.mark.parametrize("case", CASES, ids=str)
sizes = st.lists(st.integers(1, 5), min_size=1, max_size=5)
seeds = st.integers(0, 2**31)
few = settings(derandomize=True, deadline=None, max_examples=4)


def loss(case: Case, c: Candidates) -> torch.Tensor:
    return case.objective(c).loss


def push(case: Case, c: Candidates) -> torch.Tensor:
    """How hard each token is pushed up; for a reward model, each value."""
    if case.learns == "logp":
        return implied_weights(case.objective, c)
    value = c.value.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(case, replace(c, value=value)), value)
    return -gradient


def assert_same(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Equal up to rounding: of the largest entry, or for a loss, whose terms may cancel, of a term of size 1."""
    tolerance = 1e-12 if expected.dtype == torch.float64 else 1e-5
    scale = 1.0 if expected.ndim == 0 else max(expected.abs().flatten().tolist(), default=0.0)
    assert expected.isfinite().all()
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance * scale)


def parts_of(c: Candidates, count: int, seed: int) -> list[torch.Tensor]:
    """Row numbers in `count` parts of whole groups, parts and rows in any order; a part may be empty."""
    draw = torch.Generator().manual_seed(seed)
    ids, index = torch.unique(c.group, return_inverse=True)
    part = torch.randint(count, (len(ids),), generator=draw)[index]
    order = torch.randperm(len(index), generator=draw)
    return [order[part[order] == p] for p in torch.randperm(count, generator=draw).tolist()]


# One step, one gradient


@every
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@few
@given(sizes=sizes, seed=seeds, count=st.integers(2, 4))
def test_a_step_is_the_same_however_it_is_split(case, dtype, sizes, seed, count):
    c = case.objective.prepare(step(case, seed, sizes=tuple(sizes), dtype=dtype))
    parts = parts_of(c, count, seed)
    assert_same(sum(loss(case, c.rows(rows)) for rows in parts), loss(case, c))
    pushes = torch.full_like(c.logp, torch.nan)
    for rows in parts:
        pushes[rows] = push(case, c.rows(rows))
    assert_same(pushes, push(case, c))


@pytest.mark.parametrize("case", [case for case in CASES if case.objective.rowwise], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_rowwise_objective_may_be_split_within_groups(case, seed):
    c = case.objective.prepare(step(case, seed))
    rows = torch.randperm(len(c.score), generator=torch.Generator().manual_seed(seed)).split(3)
    assert_same(sum(loss(case, c.rows(part)) for part in rows), loss(case, c))
    pushes = torch.zeros_like(c.logp)
    for part in rows:
        pushes[part] = push(case, c.rows(part))
    assert_same(pushes, push(case, c))


@pytest.mark.parametrize("case", [case for case in CASES if not case.objective.rowwise], ids=str)
def test_the_others_read_their_groups_whole(case):
    c = case.objective.prepare(step(case))
    pushes = torch.stack([push(case, c.rows([n]))[0] for n in range(len(c.score))])
    assert not torch.allclose(pushes, push(case, c))


@every
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_stand_still_need_not_be_computed(case, seed):
    c = step(case, seed, sizes=(2, 3, 1, 4, 3))
    c = case.objective.prepare(replace(c, score=torch.where(c.group == c.group[0], 1.0, c.score)))
    still = case.objective.still(c)
    moving = (~still).nonzero()[:, 0]
    pushes = push(case, c)
    assert pushes[still].count_nonzero() == 0
    assert_same(push(case, c.rows(moving)), pushes[moving])
    if len(moving):
        assert_same(loss(case, c.rows(moving)), loss(case, c))


STILL = ["best_of_n", "gspo", "cispo", "rloo", "grpo"]


@pytest.mark.parametrize("case", [c for c in CASES if c.name in STILL and not c.pulls and c.reads_score], ids=str)
def test_groups_of_equal_scores_stand_still(case):
    c = step(case, sizes=(3, 4))
    equal = case.objective.prepare(replace(c, score=torch.ones_like(c.score)))
    if "batch_standardized" not in str(case):
        assert case.objective.still(equal).all()
    moving = ~case.objective.still(case.objective.prepare(replace(c, score=torch.arange(7.0, dtype=torch.float64))))
    assert moving.any()


@every
def test_statistics_of_the_parts_add_up(case):
    c = case.objective.prepare(step(case))
    whole = case.objective(c).stats
    parts = [case.objective(c.rows(rows)).stats for rows in parts_of(c, 3, seed=1)]
    assert whole
    for name, mean in whole.items():
        added = sum((part[name] for part in parts), Mean(0, 0))
        assert added.count == mean.count
        assert added.total == pytest.approx(mean.total, rel=1e-12)


@every
@pytest.mark.parametrize(("left", "right"), [(3, 0), (0, 3), (2, 5)])
def test_padding_may_be_any_width_on_any_side(case, left, right):
    c = case.objective.prepare(step(case))

    def wider(value: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(value, (left, right), value=0 if value.dtype == torch.bool else -7.0)

    wide = {f.name: getattr(c, f.name) for f in fields(c) if getattr(c, f.name) is not None and f.name != "totals"}
    wide = {name: wider(value) if value.shape == c.mask.shape else value for name, value in wide.items()}
    padded = Candidates(**(wide | {"weight": None}))
    padded = case.objective.prepare(padded)
    assert_same(loss(case, padded), loss(case, c))
    pushes = push(case, padded)
    assert_same(pushes[:, left : left + c.mask.shape[1]], push(case, c))
    assert pushes[:, :left].count_nonzero() == pushes[:, left + c.mask.shape[1] :].count_nonzero() == 0


@every
@few
@given(seed=seeds)
def test_row_order_and_group_ids_are_immaterial(case, seed):
    draw = torch.Generator().manual_seed(seed)
    c = step(case, seed)
    order = torch.randperm(len(c.logp), generator=draw)
    names = torch.randperm(10**6, generator=draw)[:1000]
    moved = replace(c.rows(order), totals=None)
    moved = case.objective.prepare(replace(moved, group=names[moved.group]))
    c = case.objective.prepare(c)
    assert_same(loss(case, moved), loss(case, c))
    assert_same(push(case, moved), push(case, c)[order])


@every
def test_a_part_without_rows_adds_nothing(case):
    c = case.objective.prepare(step(case))
    assert loss(case, c.rows([])) == 0
    assert push(case, c.rows([])).shape == (0, c.mask.shape[1])


# What is read, and what is not


@every
@pytest.mark.parametrize("poison", [torch.nan, torch.inf, -torch.inf])
def test_padding_is_never_read(case, poison):
    c = step(case)
    poisoned = {
        f.name: torch.where(c.mask, value, poison)
        for f in fields(c)
        if isinstance(value := getattr(c, f.name), torch.Tensor) and value.is_floating_point() and value.ndim == 2
    }
    learned = poisoned[case.learns].requires_grad_()
    dirty = case.objective(case.objective.prepare(replace(c, **poisoned))).loss
    dirty.backward()
    clean = case.objective.prepare(c)
    assert_same(dirty.detach(), loss(case, clean).detach())
    assert_same(-learned.grad, push(case, clean))
    assert learned.grad[~c.mask].count_nonzero() == 0


@every
def test_nothing_is_read_beyond_needs(case):
    c = step(case)
    nan = torch.full_like(c.logp, torch.nan)
    unread = {name: nan for name, need in NEEDED.items() if need not in case.objective.needs}
    if not case.reads_score:
        unread["score"] = torch.arange(len(c.score)).to(c.score)
    poisoned = case.objective.prepare(replace(c, weight=nan, **unread))
    clean = case.objective.prepare(c)
    assert_same(loss(case, poisoned), loss(case, clean))
    assert_same(push(case, poisoned), push(case, clean))


@every
def test_what_is_needed_and_missing_is_named(case):
    if Need.REF not in case.objective.needs:
        assert loss(case, case.objective.prepare(replace(step(case), logp_ref=None))).isfinite()
        return
    with pytest.raises(ValueError, match=rf"{case.name} reads Candidates\.logp_ref"):
        loss(case, case.objective.prepare(replace(step(case), logp_ref=None)))


@pytest.mark.parametrize("case", [case for case in CASES if case.group_local], ids=str)
@few
@given(seed=seeds)
def test_another_groups_rows_never_matter(case, seed):
    c = step(case, seed)
    ours = c.group == c.group[0]
    other = step(case, seed + 1, sizes=(len(c.logp),))
    changed = {
        name: torch.where(ours[:, None], getattr(c, name), getattr(other, name))
        for name in ("logp", "logp_old", "logp_ref", "value", "value_old")
        if getattr(c, name) is not None
    }
    # The masks, and which scores differ, stay: the step's denominators do not change
    changed = replace(c, score=torch.where(ours, c.score, 5 - 2 * c.score), **changed)
    assert_same(push(case, case.objective.prepare(changed))[ours], push(case, case.objective.prepare(c))[ours])


def without(c: Candidates, rows: torch.Tensor) -> Candidates:
    """The step as if these rows had never been in it."""
    return replace(c.rows(~rows), totals=None)


@every
@few
@given(seed=seeds)
def test_unjudged_rows_leave_the_step(case, seed):
    c = step(case, seed)
    unjudged = torch.rand(len(c.score), generator=torch.Generator().manual_seed(seed)) < 0.4
    if c.mismatched is not None:  # they have no score of their own
        unjudged &= ~c.mismatched
    marked = case.objective.prepare(replace(c, score=c.score.masked_fill(unjudged, torch.nan)))
    rest = case.objective.prepare(without(c, unjudged))
    assert_same(loss(case, marked), loss(case, rest))
    assert push(case, marked)[unjudged].count_nonzero() == 0
    assert_same(push(case, marked)[~unjudged], push(case, rest))


@every
def test_mismatched_rows_are_never_pushed(case):
    c = step(case)
    mismatched = torch.arange(len(c.logp)) % 3 == 0 if c.mismatched is None else c.mismatched
    marked = case.objective.prepare(replace(c, mismatched=mismatched))
    assert push(case, marked)[mismatched].count_nonzero() == 0
    if Need.MISMATCHED not in case.objective.needs:
        rest = case.objective.prepare(without(c, mismatched))
        assert_same(loss(case, marked), loss(case, rest))
        assert_same(push(case, marked)[~mismatched], push(case, rest))


@every
def test_a_step_without_judged_rows_changes_nothing(case):
    c = step(case)
    c = case.objective.prepare(replace(c, score=torch.full_like(c.score, torch.nan)))
    assert loss(case, c) == 0
    assert push(case, c).count_nonzero() == 0


# Where it pushes


@pytest.mark.parametrize("case", [case for case in SCORING if case.tells_two_apart], ids=str)
@pytest.mark.parametrize("best", [0, 1])
def test_the_better_of_two_is_pushed_above_the_worse(case, best):
    c = step(case, sizes=(2,))
    pair = torch.arange(len(c.score)) if c.mismatched is None else (~c.mismatched).nonzero()[:, 0]
    better, worse = pair[best], pair[1 - best]
    score = torch.zeros_like(c.score)
    score[better] = 1
    critic = torch.zeros_like(c.logp)  # expects nothing
    at_start = replace(c, score=score, logp_ref=c.logp, logp_old=c.logp if case.moved else None)
    pushes = push(case, case.objective.prepare(replace(at_start, value=critic, value_old=critic)))
    of_better, of_worse = pushes[better][c.mask[better]], pushes[worse][c.mask[worse]]
    if case.learns == "value":
        of_better, of_worse = of_better[-1:], of_worse[-1:]  # a reward stands at the last token
    assert of_better.min() > of_worse.max()


@pytest.mark.parametrize("case", COMPARING, ids=str)
@pytest.mark.parametrize("score", [0.0, 0.1, -1 / 3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_equal_scores_give_exactly_no_gradient(case, score, dtype):
    c = step(case, sizes=(3, 7), dtype=dtype)
    c = replace(c, score=torch.full_like(c.score, score))
    pushes = push(case, case.objective.prepare(c))
    if not case.pulls:
        assert pushes.count_nonzero() == 0
    else:  # the pull to the reference is all that is left, whatever the score
        assert_same(pushes, push(case, case.objective.prepare(replace(c, score=torch.zeros_like(c.score)))))


@pytest.mark.parametrize("case", [case for case in CASES if case.learns == "logp"], ids=str)
def test_implied_weights_give_the_gradient_of_the_parameters(case):
    c = step(case)
    draw = torch.Generator().manual_seed(3)
    rows, tokens = c.logp.shape
    theta = torch.randn(6, 5, generator=draw, dtype=torch.float64, requires_grad=True)
    feature = torch.randn(rows, tokens, 6, generator=draw, dtype=torch.float64)
    token = torch.randint(5, (rows, tokens, 1), generator=draw)

    def log_probs() -> torch.Tensor:
        return (feature @ theta).log_softmax(-1).gather(-1, token).squeeze(-1)

    if case.moved:
        c = replace(c, logp_old=log_probs().detach() + 0.1)
    c = replace(case.objective.prepare(c), logp=log_probs())
    (closed_form,) = torch.autograd.grad(loss(case, c), theta)
    (implied,) = torch.autograd.grad(-(push(case, c) * log_probs()).sum(), theta)
    assert_same(implied, closed_form)


@pytest.mark.parametrize("case", [case for case in CASES if case.moved], ids=str)
def test_no_old_policy_means_a_ratio_of_one(case):
    c = step(case)
    given, omitted = replace(c, logp_old=c.logp), replace(c, logp_old=None)
    assert_same(push(case, case.objective.prepare(omitted)), push(case, case.objective.prepare(given)))


# Numerics


@pytest.mark.parametrize("case", [case for case in CASES if not case.marks & DETACHED], ids=str)
def test_the_gradient_is_the_losss_derivative(case):
    c = step(case, sizes=(2, 2), tokens=2)
    c = case.objective.prepare(c if case.moved else replace(c, logp_old=c.logp))
    learned = getattr(c, case.learns).clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(case, replace(c, **{case.learns: x})), learned, atol=1e-8)


@every
@few
@given(seed=seeds)
def test_float32_pushes_as_float64_does(case, seed):
    """No cancellation: the precision that training runs in gives the gradient of the formula."""
    pushes = [push(case, case.objective.prepare(step(case, seed, dtype=d))) for d in (torch.float32, torch.float64)]
    torch.testing.assert_close(pushes[0].double(), pushes[1], rtol=1e-3, atol=1e-5 * pushes[1].abs().max().item())


@every
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
def test_half_precision_is_computed_in_float32(case, dtype):
    half = step(case, dtype=torch.float32)
    tensors = {f.name: getattr(half, f.name) for f in fields(half) if isinstance(getattr(half, f.name), torch.Tensor)}
    tensors = {name: value.to(dtype) if value.is_floating_point() else value for name, value in tensors.items()}
    full = Candidates(**{k: v.float() if v.is_floating_point() else v for k, v in tensors.items()})
    learned = tensors[case.learns].requires_grad_()
    result = case.objective(case.objective.prepare(Candidates(**tensors))).loss
    result.backward()
    assert result.dtype == torch.float32
    assert torch.equal(result, loss(case, case.objective.prepare(full)))
    assert torch.equal(-learned.grad, push(case, case.objective.prepare(full)).to(dtype))


@every
@pytest.mark.parametrize("extreme", [("logp", -1e4), ("logp", -0.0), ("logp_ref", -1e4), ("logp_old", -1e4)], ids=str)
def test_extreme_log_probabilities_stay_finite(case, extreme):
    name, value = extreme
    c = step(case, dtype=torch.float32)
    if name == "logp_old" and not case.moved:
        c = replace(c, logp_old=c.logp)
    c = case.objective.prepare(replace(c, **{name: torch.full_like(c.logp, value)}))
    assert loss(case, c).isfinite()
    assert push(case, c).isfinite().all()


# Form


@every
@pytest.mark.filterwarnings("ignore:generalized.weights")
def test_an_objective_is_plain_data(case):
    objective = case.objective
    assert is_dataclass(objective)
    assert type(objective).__dataclass_params__.frozen
    assert all(f.kw_only for f in fields(objective))
    assert pickle.loads(pickle.dumps(objective)) == objective == type(objective)(**asdict(objective))
    assert eval(repr(objective), {type(objective).__name__: type(objective)}) == objective


@pytest.fixture
def as_a_user_calls(monkeypatch):
    """Without the type checks that only tests have."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.usefixtures("as_a_user_calls")
@pytest.mark.parametrize("name", objective_names())
def test_a_value_outside_a_fields_choices_is_refused(name):
    objective = find_objective(name)
    for f in fields(objective):
        if get_origin(f.type) is Literal:
            with pytest.raises(ConfigError, match=rf"{name}\.{f.name} = 'no such choice', must be one of "):
                objective(**{f.name: "no such choice"})


@pytest.mark.parametrize("name", objective_names())
def test_no_number_of_a_setting_may_be_nan(name):
    objective = find_objective(name)
    for f in fields(objective):
        if f.type is float:
            with pytest.raises(ConfigError, match=rf"{name}\.{f.name} = nan"):
                objective(**{f.name: math.nan})
