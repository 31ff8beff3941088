"""Every objective learns a small task above a threshold, with three seeds.

The policy is a table: logits of V tokens at each of T places of P prompts. The task: one token is right at each place;
an answer's score is its share of right tokens. The policy's expected score is exact: the mean probability of the
right tokens. Chance is 1 / V = 0.25.
"""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from groupwise.candidates import Candidates, Need, Objective
from groupwise.registry import find_objective, objective_names

P, T, V, K = 4, 3, 4, 16
ONLINE = {
    "reinforce": {},
    "rloo": {},
    "grpo": {},
    "gspo": {},
    "cispo": {},
    "ppo": {"kl_coef": 0.0},
    "best_of_n": {},
    "dpo": {},
    "ipo": {"tau": 0.1},
    "kto": {"beta": 0.3},
    "plackett_luce": {"beta": 1.0},
    "listnet": {"beta": 1.0, "temperature": 0.1},
    "orpo": {"lam": 1.0},
    "rrhf": {},
    "simpo": {},
    "generalized": {"weights": "standardized", "surrogate": "clipped", "length": "mean", "per": "completion"},
}
OFFLINE = {
    **{name: ONLINE[name] for name in ("ipo", "kto", "plackett_luce", "listnet", "orpo", "rrhf", "simpo", "best_of_n")},
    "dpo": {"beta": 1.0},
    "sft": {},
    "reward_model": {},
    "generalized": {"weights": "plackett_luce", "kl_coef": 0.0},
}
seeds = pytest.mark.parametrize("seed", [0, 1, 2])


@dataclass
class Table:
    """The policy, a critic or reward table beside it, and the right tokens."""

    logits: Tensor
    values: Tensor
    right: Tensor

    @classmethod
    def make(cls, seed: int) -> "Table":
        draw = torch.Generator().manual_seed(seed)
        logits = 0.1 * torch.randn(P, T, V, generator=draw, dtype=torch.float64)
        values = torch.zeros(P, T, V, dtype=torch.float64)
        return cls(logits.requires_grad_(), values.requires_grad_(), torch.randint(V, (P, T), generator=draw))

    def logp(self, prompt: Tensor, tokens: Tensor) -> Tensor:
        return self.logits.log_softmax(-1)[prompt].gather(-1, tokens[..., None])[..., 0]

    def expected_score(self) -> float:
        return self.logits.softmax(-1).gather(-1, self.right[..., None]).mean().item()

    def sample(self, prompt: Tensor, draw: torch.Generator) -> Tensor:
        probs = self.logits.detach().softmax(-1)[prompt]
        return torch.multinomial(probs.flatten(0, 1), 1, generator=draw).reshape(-1, T)

    def score(self, prompt: Tensor, tokens: Tensor) -> Tensor:
        return (tokens == self.right[prompt]).double().mean(-1)


def as_read(objective: Objective, table: Table, start: Tensor, prompt: Tensor, tokens: Tensor, score: Tensor) -> dict:
    """The tensors that this objective reads of these answers."""
    reference = Table(start, table.values, table.right).logp(prompt, tokens)
    value = table.values[prompt].gather(-1, tokens[..., None])[..., 0]
    if Need.OLD in objective.needs:  # a critic does not know the token to come
        value = table.values[prompt][:, :, 0]
    elif Need.VALUE in objective.needs:
        value = value.cumsum(-1)
    return {
        "logp": table.logp(prompt, tokens),
        "logp_ref": reference,
        "value": value,
        "value_old": value.detach(),
        "score": (score > 0.5).double() if objective.takes == "thumbs" else score,
    }


def step(objective: Objective, table: Table, start: Tensor, prompt: Tensor, tokens: Tensor) -> Tensor:
    """The loss of one step on these answers."""
    score, group = table.score(prompt, tokens), prompt
    mismatched = None
    if objective.takes == "thumbs":  # each a group of one; then every answer under the next prompt
        group, count = torch.arange(2 * len(prompt)), len(prompt)
        prompt, tokens = torch.cat([prompt, (prompt + 1) % P]), tokens.repeat(2, 1)
        score, mismatched = score.repeat(2), group >= count
    read = as_read(objective, table, start, prompt, tokens, score)
    c = Candidates(mask=torch.ones_like(tokens, dtype=torch.bool), group=group, mismatched=mismatched, **read)
    prepared = objective.prepare(replace(c, logp=c.logp.detach()))
    return objective(replace(prepared, logp=c.logp, value=c.value)).loss


def train(name: str, settings: dict, seed: int, *, online: bool, steps: int) -> Table:
    objective, table = find_objective(name)(**settings), Table.make(seed)
    start, draw = table.logits.detach().clone(), torch.Generator().manual_seed(seed + 100)
    optimizer = torch.optim.Adam([table.logits, table.values], lr=0.05)
    prompt = torch.arange(P).repeat_interleave(K)
    fixed = torch.randint(V, (len(prompt), T), generator=draw)
    if name == "sft":
        fixed = table.right[prompt]
    for _ in range(steps):
        tokens = table.sample(prompt, draw) if online else fixed
        loss = step(objective, table, start, prompt, tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return table


@seeds
@pytest.mark.parametrize("name", ONLINE)
def test_from_its_own_samples(name, seed):
    assert Table.make(seed).expected_score() < 0.35
    assert train(name, ONLINE[name], seed, online=True, steps=200).expected_score() > 0.8


@seeds
@pytest.mark.parametrize("name", [name for name in OFFLINE if name != "reward_model"])
def test_from_given_answers(name, seed):
    """K random answers a prompt, their scores given: the policy comes to prefer right tokens to others."""
    assert train(name, OFFLINE[name], seed, online=False, steps=100).expected_score() > 0.45


@seeds
def test_a_reward_model_ranks_answers_it_has_not_seen(seed):
    table = train("reward_model", {}, seed, online=False, steps=100)
    draw = torch.Generator().manual_seed(seed + 200)
    prompt = torch.arange(P).repeat_interleave(50)
    left, right = (torch.randint(V, (len(prompt), T), generator=draw) for _ in range(2))
    reward = [table.values.detach()[prompt].gather(-1, t[..., None])[..., 0].sum(-1) for t in (left, right)]
    better = table.score(prompt, left) - table.score(prompt, right)
    apart = better != 0
    agree = (torch.sign(reward[0] - reward[1]) == torch.sign(better))[apart]
    assert agree.double().mean() > 0.8


def test_every_objective_is_here():
    assert set(ONLINE) | set(OFFLINE) == set(objective_names())
