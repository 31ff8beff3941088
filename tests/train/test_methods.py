"""Every objective trains from a recipe: given data, sampling, a critic, a reward model, a reference that follows."""

import json

import pytest
import torch

from groupwise.errors import RewardError
from groupwise.models.scalar import ScalarModel
from groupwise.recipe import recipe_of
from groupwise.registry import objective_names
from groupwise.runner import Runner

OFFLINE = ("dpo", "ipo", "kto", "orpo", "simpo", "rrhf", "plackett_luce", "listnet", "best_of_n", "generalized")
ONLINE = ("reinforce", "rloo", "grpo", "gspo", "cispo", "ppo", "best_of_n", "dpo", "generalized")
SAMPLED = {
    "data": {"task": "sums", "size": 20, "settings": {"digits": 1}},
    "sampling": {"k": 4, "max_new_tokens": 4},
    "reward": {"name": "length", "settings": {"target": 3, "unit": "characters"}},
}


@pytest.fixture
def pairs(tmp_path):
    rows = [{"prompt": f"{a}+{b}=", "chosen": f"{a + b}", "rejected": f"{a + b + 5}"} for a in (2, 3) for b in range(4)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def runner(directory, name, *, objective=(), model=(), train=(), **sections):
    return Runner(
        recipe_of(
            {
                "model": {"path": "tiny", **dict(model)},
                "objective": {"name": name, **dict(objective)},
                "train": {"steps": 2, "groups_per_step": 4, **dict(train)},
                "optimizer": {"learning_rate": 1e-3},
                **sections,
            }
        ),
        directory,
    )


def trained(found):
    reports = list(found.steps())
    assert all(report.metrics["optimizer/grad_norm"] > 0 for report in reports)
    return reports


@pytest.mark.parametrize("name", OFFLINE)
def test_from_pairs(name, pairs, tmp_path):
    trained(runner(tmp_path / "run", name, data={"path": pairs}))


@pytest.mark.parametrize("name", ONLINE)
def test_from_samples(name, tmp_path):
    trained(runner(tmp_path / "run", name, **SAMPLED))


def test_every_objective_is_trained_here():
    assert {*OFFLINE, *ONLINE, "sft", "reward_model"} == set(objective_names())


def test_a_reward_model_is_trained_saved_and_used_as_critic(pairs, tmp_path):
    found = runner(tmp_path / "rm", "reward_model", data={"path": pairs}, train={"steps": 12})
    reports = trained(found)
    assert reports[0].metrics["loss/total"] == pytest.approx(0.6931, abs=1e-4)  # a new head says 0
    assert reports[-1].metrics["loss/accuracy"] > 0.9
    folder = tmp_path / "rm" / "model"
    rows = [(5, 6, 7), (5, 6, 7, 8, 9, 1), (3,)]
    model = ScalarModel.load(folder)
    together, alone = model.rewards(rows), [model.rewards([row])[0] for row in rows]
    assert together == pytest.approx(alone, abs=1e-5)
    native = _transformers_own(folder)
    assert together == pytest.approx([native(torch.tensor([row])).logits.item() for row in rows], abs=1e-5)
    before = {name: value.clone() for name, value in model.trained_state().items()}
    ppo = runner(tmp_path / "ppo", "ppo", objective={"kl_coef": 0.0}, model={"critic": str(folder)}, **SAMPLED)
    trained(ppo)
    assert any(not torch.equal(before[name], value) for name, value in ppo.policy.critic.trained_state().items())


def _transformers_own(folder):
    from transformers import AutoModelForSequenceClassification

    return AutoModelForSequenceClassification.from_pretrained(folder).eval()


def test_ktos_reference_point_is_measured_on_other_prompts_answers(pairs, tmp_path):
    found = runner(tmp_path / "run", "kto", data={"path": pairs}, train={"steps": 6})
    reports = trained(found)
    assert reports[0].metrics["loss/z0"] == 0  # the policy is the reference
    assert reports[-1].metrics["loss/z0"] >= 0
    assert reports[0].metrics["completions/count"] == 4  # a pair is two thumbs, and mismatched rows are not counted


def test_ppos_kl_coefficient_follows_its_target_over_a_stop(tmp_path):
    objective = {"kl_target": 1e-4, "kl_horizon": 100.0}
    whole = trained(runner(tmp_path / "a", "ppo", objective=objective, train={"steps": 4, "save_every": 2}, **SAMPLED))
    found = runner(tmp_path / "b", "ppo", objective=objective, train={"steps": 4, "save_every": 2}, **SAMPLED)
    steps = found.steps()
    next(steps), next(steps), next(steps)
    steps.close()
    resumed = list(Runner(found.recipe, tmp_path / "b", resume=True).steps())
    coefficients = [report.metrics["loss/kl_coef"] for report in whole]
    assert len(set(coefficients)) > 2
    assert [report.metrics["loss/kl_coef"] for report in resumed] == coefficients[2:]


def test_a_reference_that_follows_is_the_policy_after_each_step(pairs, tmp_path):
    follow = {"reference_update": {"every": 1}}
    found = runner(tmp_path / "run", "dpo", data={"path": pairs}, model=follow)
    for report in trained(found):
        assert report.metrics["loss/total"] == pytest.approx(0.6931, abs=1e-3)
    held = found.reference.policy.trained_state() or dict(found.reference.policy.module.named_parameters())
    for name, value in found.policy.trained_state().items():
        assert torch.equal(held[name].detach(), value)


def test_rows_that_repeat_within_a_step_are_told(pairs, tmp_path):
    found = runner(tmp_path / "run", "dpo", data={"path": pairs}, train={"groups_per_step": 9})
    trained(found)
    events = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text().splitlines()]
    assert [e["message"][:48] for e in events if e["kind"] == "repeats"] == [
        "a step takes 9 groups and `data` has 8 rows: the"
    ]


DIGITS = """
def digits(row, text):
    return {"steps": [(i + 1, float(c.isdigit())) for i, c in enumerate(text)]} if text else 0.0
"""


def test_grpo_with_a_process_reward(tmp_path):
    (tmp_path / "steps.py").write_text(DIGITS)
    reward = {"name": f"{tmp_path / 'steps.py'}:digits"}
    found = runner(tmp_path / "run", "grpo", objective={"process": True}, **(SAMPLED | {"reward": reward}))
    reports = trained(found)
    for group in reports[0].groups:
        for completion in group.completions:
            ends = [end for end, _ in completion.steps]
            assert ends == list(range(len(completion.text)))  # the tiny tokenizer's tokens are characters
            assert [reward for _, reward in completion.steps] == [float(c.isdigit()) for c in completion.text]
            if completion.steps:
                share = sum(c.isdigit() for c in completion.text) / len(completion.text)
                assert completion.score == pytest.approx(share)


def test_a_process_objective_without_steps_says_what_to_return(tmp_path):
    found = runner(tmp_path / "run", "grpo", objective={"process": True}, **SAMPLED)
    with pytest.raises(RewardError, match=r'the reward must return \{"steps"'):
        list(found.steps())


def test_a_warm_up_longer_than_the_run_is_told(pairs, tmp_path):
    trained(runner(tmp_path / "run", "dpo", data={"path": pairs}, optimizer={"warmup_steps": 3}))
    events = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text().splitlines()]
    (said,) = (event["message"] for event in events if event["kind"] == "warmup")
    assert "optimizer.warmup_steps = 3 is more than train.steps = 2" in said
