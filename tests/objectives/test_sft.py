import pytest
import torch

from groupwise.candidates import Candidates, Mean
from groupwise.objectives import SFT

LOGP = torch.tensor([[-1.0, -2.0, -9.0], [-3.0, -9.0, -9.0], [-1.0, -1.0, -4.0]], dtype=torch.float64)
MASK = torch.tensor([[True, True, False], [True, False, False], [True, True, True]])


def loss_of(objective, **fields):
    c = Candidates(logp=LOGP, mask=MASK, group=torch.arange(3), score=torch.ones(3), **fields)
    return objective(objective.prepare(c))


def test_by_hand():
    assert loss_of(SFT()).loss.item() == pytest.approx((1 + 2 + 3 + 1 + 1 + 4) / 6)
    assert loss_of(SFT(per="completion")).loss.item() == pytest.approx((1.5 + 3 + 2) / 3)
    assert loss_of(SFT()).stats == {"nll": Mean(12, 6)}


def test_it_is_cross_entropy_on_the_response_tokens():
    draw = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(3, 3, 11, generator=draw), torch.randint(11, (3, 3), generator=draw)
    logp = logits.log_softmax(-1).gather(-1, labels[..., None]).squeeze(-1)
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.masked_fill(~MASK, -100).flatten())
    c = Candidates(logp=logp, mask=MASK, group=torch.arange(3), score=torch.ones(3))
    assert SFT()(c).loss.item() == pytest.approx(expected.item(), rel=1e-6)
