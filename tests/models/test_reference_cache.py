"""What the reference has said is kept: the same values, from disk, for the same rows and weights only."""

from dataclasses import replace

import pytest
import torch

from groupwise.candidates import Completion, Group
from groupwise.data.batch import collate
from groupwise.models.policy import Policy
from groupwise.models.reference import FrozenReference
from groupwise.models.reference_cache import CachedReference, fingerprint
from groupwise.models.tiny import make_tiny


class Counted:
    """A real reference that counts the rows it computes."""

    def __init__(self, inner):
        self.inner, self.rows = inner, 0

    def log_probs(self, batch):
        self.rows += len(batch.responses)
        return self.inner.log_probs(batch)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return FrozenReference(Policy.load(make_tiny(tmp_path_factory.mktemp("tiny") / "model")))


def group(prompt, *responses):
    completions = tuple(Completion(token_ids=ids, text="", score=1.0) for ids in responses)
    return Group(prompt_ids=prompt, completions=completions)


ONE, OTHER = group((3, 4), (5, 6, 7), (8,)), group((9,), (5, 6, 7))


def test_a_row_is_computed_once_and_read_again_after_a_stop(reference, tmp_path):
    counted, file = Counted(reference), tmp_path / "cache" / "x.bin"
    cache, batch = CachedReference(counted, file), collate([ONE, OTHER])
    first = cache.log_probs(batch)
    assert torch.equal(first, reference.log_probs(batch))
    assert torch.equal(cache.log_probs(batch), first)
    assert counted.rows == 3
    again = CachedReference(counted, file)
    assert torch.equal(again.log_probs(collate([OTHER])), first[2:])
    assert counted.rows == 3


def test_other_tokens_or_another_mask_are_other_rows(reference, tmp_path):
    counted = Counted(reference)
    cache = CachedReference(counted, tmp_path / "x.bin")
    cache.log_probs(collate([OTHER]))
    masked = replace(OTHER.completions[0], trained=(True, False, True))
    found = cache.log_probs(collate([replace(OTHER, completions=(masked,))]))
    assert found[0, 1] == 0
    cache.log_probs(collate([group((9, 3), (5, 6, 7))]))
    assert counted.rows == 3


def test_a_torn_record_is_computed_again(reference, tmp_path):
    file = tmp_path / "x.bin"
    whole = CachedReference(reference, file).log_probs(collate([ONE, OTHER]))
    file.write_bytes(file.read_bytes()[:-3])
    counted = Counted(reference)
    cache = CachedReference(counted, file)
    torch.testing.assert_close(cache.log_probs(collate([OTHER])), whole[2:])  # another batch rounds otherwise
    assert counted.rows == 1
    assert len(CachedReference(counted, file).rows) == 3


def test_the_name_changes_with_any_weight_and_setting(reference):
    model = reference.policy.model
    name = fingerprint(model, "float32", 1.0)
    assert fingerprint(model, "float32", 1.0) == name
    assert fingerprint(model, "bfloat16", 1.0) != name
    with torch.no_grad():
        weight = next(model.parameters()).view(-1)
        before = weight[5].clone()
        weight[5] += 1e-3
        assert fingerprint(model, "float32", 1.0) != name
        weight[5] = before
    assert fingerprint(model, "float32", 1.0) == name
