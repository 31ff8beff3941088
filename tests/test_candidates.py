import math
from dataclasses import FrozenInstanceError, replace

import jaxtyping
import pytest
import torch

from groupwise.candidates import Candidates, Completion, Group, Loss, Mean, Objective, Totals, implied_weights

NAN = math.nan


@pytest.fixture
def c() -> Candidates:
    """Groups 5 and 2; row 3 cannot be judged; rows of 2, 1, 3, 3 and 1 tokens."""
    return Candidates(
        logp=-torch.arange(1.0, 16.0, dtype=torch.float64).reshape(5, 3),
        mask=torch.tensor([[1, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1], [0, 1, 0]]).bool(),
        group=torch.tensor([5, 2, 5, 5, 2]),
        score=torch.tensor([1.0, 0.0, 3.0, NAN, 0.0], dtype=torch.float64),
    )


def test_totals_count_judged_rows_only(c):
    assert c.whole_step().totals == Totals(completions=4, tokens=7, groups=2, paired=1, longest=3)
    assert c.counted.tolist() == [True, True, True, False, True]


def test_mismatched_rows_do_not_count(c):
    c = replace(c, mismatched=torch.tensor([False, False, True, False, False]))
    assert c.whole_step().totals == Totals(completions=3, tokens=4, groups=2, paired=0, longest=2)
    assert c.counted_score.nan_to_num(nan=-1).tolist() == [1, 0, -1, -1, 0]


def test_the_means_of_a_step_by_hand(c):
    value = torch.arange(15.0, dtype=torch.float64).reshape(5, 3)
    assert c.token_mean(value).item() == pytest.approx((0 + 1 + 5 + 6 + 7 + 8 + 13) / 7)
    assert c.completion_mean(value).item() == pytest.approx((0.5 + 5 + 7 + 13) / 4)
    assert c.completion_mean(value[:, 0]).item() == pytest.approx((0 + 3 + 6 + 12) / 4)
    assert c.constant_mean(value).item() == pytest.approx(40 / (4 * 3))
    assert c.constant_mean(value, 10).item() == pytest.approx(40 / (4 * 10))
    assert c.per_group(value[:, 0]).item() == pytest.approx((0 + 3 + 6 + 12) / 2)


def test_pairs_and_their_mean(c):
    better, worse = replace(c, score=torch.tensor([1.0, 0, 3, 2, 4])).pairs()
    assert sorted(zip(better.tolist(), worse.tolist(), strict=True)) == [(2, 0), (2, 3), (3, 0), (4, 1)]
    four = replace(c, score=torch.tensor([1.0, 0, 3, 2, 4]))
    margin = (10.0 * better + worse).double()  # 20, 23, 30 in one group; 41 in the other
    assert four.pair_mean(margin, better).item() == pytest.approx(((20 + 23 + 30) / 3 + 41) / 2)


def test_rows_keep_the_steps_totals(c):
    part = c.rows([4, 1])
    assert part.logp.tolist() == [[0, -14, 0], [0, 0, -6]]
    assert part.group.tolist() == [2, 2]
    assert part.totals == c.whole_step().totals
    assert c.rows(torch.tensor([False, True, False, False, True])).score.tolist() == [0, 0]
    assert part.rows([0]).totals == c.whole_step().totals


@pytest.mark.parametrize("index", [[], (), torch.zeros(5, dtype=torch.bool)])
def test_no_rows_are_an_empty_part(c, index):
    part = c.rows(index)
    assert part.logp.shape == (0, 3)
    assert part.totals == c.whole_step().totals
    assert part.pair_mean(part.logp.sum(-1)[part.pairs()[0]], part.pairs()[0]) == 0


def test_padding_becomes_zero_and_half_precision_float32():
    mask = torch.tensor([[True, False], [False, True]])
    logp = torch.tensor([[-1.0, NAN], [math.inf, -2.0]], dtype=torch.bfloat16)
    c = Candidates(logp=logp, mask=mask, group=torch.zeros(2, dtype=torch.long), score=torch.zeros(2).half())
    assert c.logp.dtype == c.score.dtype == torch.float32
    assert c.logp.tolist() == [[-1, 0], [0, -2]]


def test_a_weight_may_be_one_a_row(c):
    assert replace(c, weight=torch.ones(5, 1)).weight.shape == (5, 1)
    assert replace(c, weight=torch.ones(5, 3)).weight.sum() == c.mask.sum()


@pytest.fixture
def as_a_user_calls(monkeypatch):
    """Without the type checks that only tests have."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.usefixtures("as_a_user_calls")
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"mask": torch.ones(5, 3)}, TypeError, r"Candidates\.mask has dtype torch.float32, .* use mask\.bool\(\)"),
        ({"mismatched": torch.ones(5).int()}, TypeError, r"Candidates\.mismatched has dtype torch.int32"),
        ({"score": torch.ones(4)}, ValueError, r"Candidates\.score has 4 rows, logp has 5"),
        ({"logp_ref": torch.ones(5, 2)}, ValueError, r"Candidates\.logp_ref has shape \[5, 2\], mask has \[5, 3\]"),
        ({"weight": torch.ones(5, 2)}, ValueError, r"Candidates\.weight has shape \[5, 2\], mask has \[5, 3\]"),
    ],
)
def test_wrong_tensors_are_named(c, change, error, message):
    with pytest.raises(error, match=message):
        replace(c, **change)


def test_means_add_and_divide_once():
    value, where = torch.tensor([[1.0, 2.0], [3.0, NAN]]), torch.tensor([[True, True], [True, False]])
    assert Mean.of(value, where) == Mean(6, 3)
    assert Mean.of(value[:1]) + Mean.of(value[1:], where[1:]) == Mean(6, 3)
    assert Mean.of(torch.tensor([[1.0], [5.0]]).expand(2, 2), where).value == pytest.approx(7 / 3)
    assert (Mean(1, 1) + Mean(9, 3)).value == 2.5
    assert math.isnan(Mean(0, 0).value)


def test_completions_check_their_lengths():
    group = Group(prompt_ids=(1, 2), completions=(Completion(token_ids=(3, 4), text="x", logprobs=(-1.0, -2.0)),))
    assert group.completions[0].score is None
    with pytest.raises(FrozenInstanceError):
        group.prompt_ids = ()
    for name in ("logprobs", "trained"):
        with pytest.raises(ValueError, match=rf"Completion\.{name} has 1 entries for 2 token_ids"):
            Completion(token_ids=(3, 4), text="x", **{name: (True,) if name == "trained" else (-1.0,)})


def test_implied_weights_of_a_loss_that_reads_nothing_are_zero(c):
    class Constant(Objective):
        def __call__(self, c: Candidates) -> Loss:
            return Loss(c.score.nansum())

    class OnlyTheReference(Objective):
        def __call__(self, c: Candidates) -> Loss:
            return Loss(c.logp.detach().requires_grad_().sum())

    for objective in (Constant, OnlyTheReference):
        assert implied_weights(object.__new__(objective), c).count_nonzero() == 0


def test_implied_weights_work_without_gradients_around_and_leave_logp_alone(c):
    class LogProb(Objective):
        def __call__(self, c: Candidates) -> Loss:
            return Loss(-(c.logp * c.score.nan_to_num()[:, None]).sum())

    logp = c.logp.clone().requires_grad_()
    with torch.no_grad():
        weight = implied_weights(object.__new__(LogProb), replace(c, logp=logp))
    assert weight.tolist() == (c.score.nan_to_num()[:, None] * c.mask).tolist()
    assert logp.grad is None
