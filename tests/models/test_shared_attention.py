"""Shared attention against one softmax over all keys, written out row by row; outputs and gradients."""

import pytest
import torch

from groupwise.models.shared_attention import Sharing, attend

TOKENS, SIZE, SCALE = 5, 8, 0.3


def tensors(rows, prompts, longest, heads, key_heads, dtype=torch.float64):
    draw = torch.Generator().manual_seed(0)

    def random(*shape):
        return torch.randn(*shape, generator=draw, dtype=dtype).requires_grad_()

    own, shared = (rows, TOKENS, key_heads, SIZE), (prompts, longest, key_heads, SIZE)
    return random(rows, TOKENS, heads, SIZE), random(*shared), random(*shared), random(*own), random(*own)


def plainly(q, kp, vp, ko, vo, prompt_of, prompt_length):
    out = []
    for n, g in enumerate(prompt_of):
        length = prompt_length[g]
        keys, values = torch.cat([kp[g, :length], ko[n]]), torch.cat([vp[g, :length], vo[n]])
        of_head = []
        for head in range(q.shape[2]):
            key_head = head // (q.shape[2] // kp.shape[2])
            scores = SCALE * q[n, :, head] @ keys[:, key_head].T
            later = torch.arange(length, length + TOKENS)[None] > length + torch.arange(TOKENS)[:, None]
            scores = torch.cat([scores[:, :length], scores[:, length:].masked_fill(later, -torch.inf)], 1)
            of_head.append(scores.softmax(1) @ values[:, key_head])
        out.append(torch.stack(of_head, 1))
    return torch.stack(out)


@pytest.mark.parametrize("heads", [(4, 4), (6, 2), (3, 1)])
@pytest.mark.parametrize(
    ("prompt_of", "prompt_length"),
    [([0, 0, 0, 1, 1, 1], [7, 7]), ([0, 0, 1, 1], [7, 3]), ([0, 0, 0, 1, 2, 2], [2, 9, 5]), ([0], [1])],
    ids=["even", "ragged prompts", "ragged groups", "one"],
)
def test_as_one_softmax_over_all_keys(heads, prompt_of, prompt_length):
    given = tensors(len(prompt_of), len(prompt_length), max(prompt_length), *heads)
    sharing = Sharing.of(torch.tensor(prompt_of), torch.tensor(prompt_length))
    q, kp, vp, ko, vo = given
    found, expected = attend(q, (kp, vp), (ko, vo), sharing, scale=SCALE), plainly(*given, prompt_of, prompt_length)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-13)
    weight = torch.randn(found.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    ours, theirs = (torch.autograd.grad((out * weight).sum(), given) for out in (found, expected))
    for name, mine, right in zip(("q", "kp", "vp", "ko", "vo"), ours, theirs, strict=True):
        torch.testing.assert_close(mine, right, rtol=0, atol=1e-12, msg=lambda said, name=name: f"{name}: {said}")


def test_far_apart_scores_stay_finite():
    given = tensors(2, 1, 4, 2, 2)
    sharing = Sharing.of(torch.tensor([0, 0]), torch.tensor([4]))
    q, kp, vp, ko, vo = given
    for of_prompt, of_own in ((100.0, 1.0), (1.0, 100.0)):
        loud = (100 * q, (of_prompt * kp, vp), (of_own * ko, vo))
        found = attend(*loud, sharing, scale=1.0)
        gradients = torch.autograd.grad(found.sum(), given)
        assert found.isfinite().all()
        assert all(g.isfinite().all() for g in gradients)


def test_nothing_is_kept_but_what_came_in_the_result_and_a_sum_for_each_query():
    given = tensors(16, 1, 64, 2, 2)
    sharing = Sharing.of(torch.zeros(16, dtype=torch.long), torch.tensor([64]))
    kept = {}
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.setdefault(x.data_ptr(), x), lambda x: x):
        q, kp, vp, ko, vo = given
        attend(q, (kp, vp), (ko, vo), sharing, scale=SCALE)
    sums = q.numel() // SIZE
    assert sum(x.numel() for x in kept.values()) == sum(x.numel() for x in given) + q.numel() + sums
