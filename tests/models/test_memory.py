"""How many tokens fit: what a pass keeps is what it keeps, and the number follows from it and from what is free."""

from dataclasses import replace

import pytest
import torch

from groupwise.candidates import Need
from groupwise.models import memory
from groupwise.models.memory import free_memory, kept, tokens_that_fit
from groupwise.models.policy import Policy

GIB = 1 << 30


@pytest.fixture
def policy(family):
    return Policy(family("llama"), None)


def counted_again(policy, tokens):
    """The same, counted by the graph itself: every tensor that its nodes saved."""
    half = (3,) * (tokens // 2)
    from groupwise.candidates import Completion, Group
    from groupwise.data.batch import collate

    group = Group(prompt_ids=half, completions=(Completion(token_ids=half, text="", score=0.0),))
    c = policy.read(collate([group]))
    weights = {p.untyped_storage().data_ptr() for p in policy.parameters()}
    found, seen, nodes = {}, set(), [c.logp.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        saved = [getattr(node, name) for name in dir(node) if name.startswith("_saved_")]
        saved += list(getattr(node, "saved_tensors", ()))
        for value in saved:
            for x in value if isinstance(value, tuple | list) else [value]:
                if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() not in weights:
                    found[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        nodes += [following for following, _ in node.next_functions]
    return sum(found.values())


@pytest.mark.parametrize("tokens", [32, 64])
def test_what_a_pass_keeps(policy, tokens):
    assert kept(policy, tokens) == counted_again(policy, tokens)


def test_it_grows_with_the_tokens_and_not_with_the_vocabulary(family):
    small, large = (Policy(family("llama", vocabulary=v), None) for v in (97, 9700))
    assert kept(small, 96) == kept(large, 96)
    growth = kept(small, 96) - kept(small, 64)
    assert growth == pytest.approx(kept(small, 128) - kept(small, 96), rel=0.02)


def test_the_number_is_a_power_of_two_within_its_bounds(policy, monkeypatch):
    of_token = (kept(policy, 192) - kept(policy, 64)) / 128
    trained = sum(3 * p.numel() * 8 for p in policy.parameters())

    def fit(tokens):
        monkeypatch.setattr(memory, "free_memory", lambda _: trained + 2 * of_token * tokens)
        return tokens_that_fit(policy)

    assert [fit(n) for n in (-10, 0, 600, 1024.5, 2047, 5000, 10**6)] == [512, 512, 512, 1024, 1024, 4096, 16384]


def test_values_are_read_too_where_they_are_needed(family):
    policy = Policy(family("llama"), None)
    policy.add_value_head()
    assert kept(policy, 64, Need.VALUE) >= kept(policy, 64)


def test_free_memory_is_that_of_the_machine_or_its_control_group(monkeypatch, tmp_path):
    free = free_memory(torch.device("cpu"))
    assert 0 < free < 64 << 40
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5\n")
    assert free_memory(torch.device("cpu")) > GIB // 8
    (tmp_path / "memory.max").write_text("1005\n")
    assert free_memory(torch.device("cpu")) == 1000


def test_a_run_reads_as_many_as_fit_says_so_and_keeps_to_it(tmp_path, monkeypatch):
    from groupwise.recipe import recipe_of
    from groupwise.runner import Runner
    from groupwise.runs.read import read_run
    from groupwise.train import limit

    recipe = recipe_of(
        {
            "model": {"path": "tiny"},
            "objective": {"name": "grpo"},
            "data": {"task": "sums", "size": 20, "settings": {"digits": 1}},
            "sampling": {"k": 4, "max_new_tokens": 3},
            "reward": {"name": "length", "settings": {"target": 2}},
            "train": {"steps": 4, "groups_per_step": 2, "save_every": 2},
        }
    )
    asked = []
    monkeypatch.setattr(limit, "tokens_that_fit", lambda *_: asked.append(1) or 512)
    steps = Runner(recipe, tmp_path / "run").steps()
    for _ in range(3):
        next(steps)
    steps.close()
    monkeypatch.setattr(limit, "tokens_that_fit", lambda *_: 1024)
    resumed = Runner(recipe, tmp_path / "run", resume=True)
    given = replace(recipe.train, max_tokens=7)
    assert limit.tokens_at_a_time(resumed.run, None, resumed.policy, Need.NONE) == 512
    assert limit.tokens_at_a_time(resumed.run, given.max_tokens, resumed.policy, Need.NONE) == 7
    list(resumed.steps())
    (event,) = [event for event in read_run(tmp_path / "run").events() if event.kind == "max_tokens"]
    assert (event.details, asked) == ({"tokens": 512}, [1])
