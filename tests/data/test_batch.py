"""Groups to tensors and to micro-batches: nothing lost, nothing doubled, whole groups only."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from groupwise.candidates import Completion, Group
from groupwise.data.batch import collate, micro_batches
from groupwise.errors import DataError


def group(prompt, *lengths, scores=None, **fields):
    scores = scores or [float(k) for k in range(len(lengths))]
    completions = tuple(
        Completion(token_ids=tuple(range(100 * k, 100 * k + n)), text="", score=score)
        for k, (n, score) in enumerate(zip(lengths, scores, strict=True))
    )
    return Group(prompt_ids=tuple(range(1000, 1000 + prompt)), completions=completions, **fields)


SHAPES = st.lists(
    st.tuples(st.integers(1, 12), st.lists(st.integers(1, 9), min_size=1, max_size=5)), min_size=1, max_size=9
)


def test_rows_stand_in_the_order_of_their_prompts():
    batch = collate([group(3, 2, 4), group(5, 1)])
    assert [len(p) for p in batch.prompts] == [3, 5]
    assert [len(r) for r in batch.responses] == [2, 4, 1]
    assert batch.prompt_of == (0, 0, 1)
    assert batch.source == ((0, 0), (0, 1), (1, 0))
    assert batch.tokens == 3 + 2 + 4 + 5 + 1
    c = batch.candidates
    assert c.group.tolist() == [0, 0, 1]
    assert c.score.tolist() == [0.0, 1.0, 0.0]
    assert c.mask.tolist() == [[True, True, False, False], [True] * 4, [True, False, False, False]]
    assert c.logp[c.mask].isnan().all()  # nothing may be read before the policy fills it in


def test_token_ids_are_carried_as_they_are():
    ids = ((5, 5, 9), (7,))
    given_group = Group(
        prompt_ids=(1, 2), completions=tuple(Completion(token_ids=i, text="anything", score=0.0) for i in ids)
    )
    batch = collate([given_group])
    assert batch.responses == ids
    assert batch.prompts == ((1, 2),)


def test_only_trained_tokens_are_under_the_mask():
    completion = Completion(token_ids=(4, 5, 6, 7), text="", score=1.0, trained=(True, False, False, True))
    batch = collate([Group(prompt_ids=(1,), completions=(completion,)), group(2, 2)])
    assert batch.candidates.mask.tolist() == [[True, False, False, True], [True, True, False, False]]
    assert batch.responses[0] == (4, 5, 6, 7)  # the model still reads all of them


def test_unjudged_completions_are_left_out_and_can_be_found():
    batch = collate([group(2, 1, 2, 3, scores=[1.0, None, 0.0]), group(3, 2, scores=[None]), group(4, 5)])
    assert batch.source == ((0, 0), (0, 2), (2, 0))
    assert [len(p) for p in batch.prompts] == [2, 4]
    assert batch.prompt_of == (0, 0, 1)
    assert [len(r) for r in batch.responses] == [1, 3, 5]


def test_nothing_to_train_on_is_an_empty_batch():
    for groups in ([], [group(2, 3, scores=[None])]):
        batch = collate(groups)
        assert batch.candidates.mask.shape == (0, 0)
        assert batch.tokens == 0
        assert list(micro_batches(batch, 10)) == []


def test_an_empty_prompt_or_response_is_named():
    with pytest.raises(DataError, match=r"rows.jsonl:3: the prompt has no tokens"):
        collate([group(0, 2, origin="rows.jsonl:3")])
    with pytest.raises(DataError, match=r"rows.jsonl:4: completion 1 has no tokens"):
        collate([group(2, 3, 0, origin="rows.jsonl:4")])
    with pytest.raises(DataError, match="a group: completion 0"):
        collate([group(2, 0)])


@given(SHAPES, st.integers(1, 60))
def test_micro_batches_hold_whole_groups_once_and_keep_the_budget(shapes, budget):
    batch = collate([group(prompt, *lengths) for prompt, lengths in shapes])
    parts = list(micro_batches(batch, budget))
    seen = [row for part in parts for row in part.source]
    assert sorted(seen) == sorted(batch.source)
    for part in parts:
        of_group = {g for g, _ in part.source}
        assert sum(g in of_group for g, _ in batch.source) == len(part.source)  # whole groups
        assert part.tokens <= budget or len(part.prompts) == 1  # one that is too large goes alone
    sizes = [part.tokens for part in parts if len(part.prompts) == 1]
    assert sizes == sorted(sizes, reverse=True)  # the largest first: too little memory shows at once


@given(SHAPES, st.integers(1, 60))
def test_micro_batches_carry_their_rows_and_the_whole_steps_totals(shapes, budget):
    batch = collate([group(prompt, *lengths) for prompt, lengths in shapes])
    whole = batch.candidates.whole_step().totals
    row_of = {row: n for n, row in enumerate(batch.source)}
    for part in micro_batches(batch, budget):
        assert part.candidates.totals == whole
        rows = [row_of[row] for row in part.source]
        assert part.responses == tuple(batch.responses[n] for n in rows)
        assert torch.equal(part.candidates.mask, batch.candidates.mask[rows])
        assert torch.equal(part.candidates.score, batch.candidates.score[rows])
        for here, n in enumerate(rows):
            assert part.prompts[part.prompt_of[here]] == batch.prompts[batch.prompt_of[n]]
        same = part.candidates.group[:, None] == part.candidates.group
        at = torch.tensor(part.prompt_of)
        assert torch.equal(same, at[:, None] == at)


def test_the_order_of_a_step_does_not_decide_what_goes_together():
    groups = [group(n, n) for n in (3, 9, 5, 7, 1)]

    def sizes(order):
        return [sorted(map(len, part.prompts)) for part in micro_batches(collate([groups[i] for i in order]), 20)]

    assert sizes(range(5)) == sizes([4, 2, 0, 1, 3])


def test_the_device_is_where_the_tensors_go():
    candidates = collate([group(2, 3)], device="meta").candidates
    assert {candidates.logp.device.type, candidates.mask.device.type, candidates.group.device.type} == {"meta"}
