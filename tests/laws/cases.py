"""The objectives and settings that the laws are checked on, and a step to check them with.

A new module in `groupwise/objectives` is in the list by itself, with its defaults; `VARIANTS` names the
settings worth checking besides.
"""

import warnings
from dataclasses import asdict, dataclass
from itertools import product

import torch

from groupwise.candidates import Candidates, Need, Objective
from groupwise.registry import find_objective, objective_names

ADVANTAGES = ("standardized", "batch_standardized", "ranked", "centered", "leave_one_out")
PER = ("completion", "token", "constant")
WEIGHTS = ("plackett_luce", "listwise", "score", "softmax", *ADVANTAGES)
VARIANTS = {
    "sft": [{}, {"per": "completion"}],
    "dpo": [
        {},
        {"label_smoothing": 0.1},
        {"length": "mean"},
        {"length": "power", "alpha": 0.5},
        {"length": "linear", "alpha": 0.01},
        {"loss": "hinge"},
        {"loss": "robust", "label_smoothing": 0.1},
    ],
    "grpo": [
        *({"advantage": advantage, "per": per} for advantage, per in product(ADVANTAGES, PER)),
        *({"per": per, "kl_coef": 0.1} for per in PER),
        *({"kl": kl, "kl_coef": 0.1} for kl in ("k1", "k2")),
        {"ddof": 0},
        {"per": "constant", "constant_length": 7},
        {"process": True},
    ],
    "ipo": [{}, {"length": "mean"}, {"separate": True}],
    "kto": [{}, {"z0": "zero", "lambda_undesirable": 1.3}],
    "rrhf": [{}, {"margin": "logistic"}, {"sft": 0.0}, {"sft_length": "mean"}],
    "plackett_luce": [{}, {"top": 1}, {"length": "mean"}],
    "listnet": [{}, {"temperature": 0.2, "length": "power", "alpha": 0.5}],
    "simpo": [{}, {"gamma": 0.0}],
    "best_of_n": [{}, {"k": 2}],
    "reinforce": [{}, {"baseline": "group"}, {"baseline": "none"}, {"kl_coef": 0.1}, {"whiten": True}],
    "rloo": [{}, {"kl_coef": 0.1}],
    "gspo": [{}, {"clip_low": 0.2, "clip_high": 0.2, "advantage": "ranked"}],
    "cispo": [{}, {"cap": 1.0, "per": "completion"}],
    "ppo": [
        {},
        {"kl_coef": 0.0},
        {"whiten": False, "value_clip": None, "lam": 0.5, "gamma": 0.9, "per": "completion"},
        {"kl_target": 6.0},
    ],
    "reward_model": [{}, {"margin": 0.3, "margin_per_score": 0.5, "center": 0.01}, {"ranking": "plackett_luce"}],
    "generalized": [
        {},
        {"kl_coef": 0.0},
        *({"weights": name, "kl_coef": 0.0} for name in WEIGHTS),
        {"weights": "top_k", "k": 2, "rho": 1.0},
        {"surrogate": "clipped", "weights": "standardized", "length": "mean", "per": "completion", "kl_coef": 0.0},
        {"surrogate": "clipped", "anchor": "reference", "weights": "ranked", "length": "power", "alpha": 0.5},
        {"weights": "centered", "per": "token", "kl": "k2"},
    ],
}
NEEDED = {"logp_old": Need.OLD, "logp_ref": Need.REF, "value": Need.VALUE, "value_old": Need.VALUE}
READS_NO_SCORE = {"sft", "listwise", "process"}
DETACHED = {"pairwise", "plackett_luce_weights", "listwise", "cispo"}  # weights made of logp, without gradient
EQUAL_SCORES_TEACH = {"sft", "kto", "ppo", "none", "score", "softmax", "listwise", "process"}


@dataclass(frozen=True)
class Case:
    """An objective, and whether the policy has moved since it sampled (`logp_old` is given)."""

    name: str
    objective: Objective
    moved: bool

    def __str__(self) -> str:
        given = asdict(self.objective)
        default = asdict(type(self.objective)())
        changed = "-".join(f"{v}" for k, v in given.items() if v != default[k])
        return "-".join(filter(None, (self.name, changed, "moved" * self.moved)))

    @property
    def marks(self) -> set[str]:
        """What the case is called by in the lists above."""
        o = self.objective
        weights = getattr(o, "weights", "").replace("plackett_luce", "plackett_luce_weights")
        process = ["process"] if getattr(o, "process", False) else []
        return {self.name, weights, getattr(o, "baseline", ""), *process}

    @property
    def reads_score(self) -> bool:
        return not self.marks & READS_NO_SCORE

    @property
    def tells_two_apart(self) -> bool:
        """Whether a better one beside one other is always pushed harder."""
        both_best = getattr(self.objective, "k", 1) > 1
        silent_in_order = getattr(self.objective, "margin", "") == "hinge" and self.objective.sft == 0
        return not both_best and not silent_in_order

    @property
    def learns(self) -> str:
        """The tensor that gradients reach."""
        return "value" if self.name == "reward_model" else "logp"

    @property
    def pulls(self) -> bool:
        """Whether a term without scores pulls toward a reference."""
        return getattr(self.objective, "kl_coef", 0) > 0

    @property
    def group_local(self) -> bool:
        """Whether a row's weight depends on its own group only; one standard deviation for the step does not."""
        o = self.objective
        over_the_step = {getattr(o, "advantage", ""), getattr(o, "weights", "")} & {"batch_standardized"}
        over_the_step |= {"whiten"} if getattr(o, "whiten", False) else set()
        over_the_step |= {"step"} if getattr(o, "baseline", "") == "step" else set()
        return not over_the_step and Need.MISMATCHED not in o.needs


def all_cases() -> list[Case]:
    found = []
    for name in objective_names():
        for setting in VARIANTS.get(name, [{}]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # listwise weights, which read no score
                objective = find_objective(name)(**setting)
            found += [
                Case(name, objective, moved) for moved in ((False, True) if Need.OLD in objective.needs else (False,))
            ]
    return found


CASES = all_cases()


def step(
    case: Case,
    seed: int = 0,
    *,
    sizes: tuple[int, ...] = (2, 3, 1, 4),
    tokens: int = 4,
    dtype: torch.dtype = torch.float64,
) -> Candidates:
    """A step of groups of these sizes: rows shuffled, ids arbitrary, masks with holes, scores with ties.

    Where the objective reads mismatched rows there are two more of them.
    """
    draw = torch.Generator().manual_seed(seed)
    mismatches = Need.MISMATCHED in case.objective.needs
    if mismatches:
        sizes = (*sizes, 2)
    rows = sum(sizes)
    ids = torch.randperm(1000, generator=draw)[: len(sizes)].repeat_interleave(torch.tensor(sizes))
    mask = torch.rand(rows, tokens, generator=draw) < 0.7
    mask[torch.arange(rows), torch.randint(tokens, (rows,), generator=draw)] = True

    def noise(scale: float) -> torch.Tensor:
        return scale * torch.randn(rows, tokens, generator=draw, dtype=torch.float64)

    logp = -noise(1).abs()
    group = ids[torch.randperm(rows, generator=draw)]
    steps = torch.where(torch.rand(rows, tokens, generator=draw) < 0.5, noise(1), torch.nan)
    return Candidates(
        logp=logp.to(dtype),
        mask=mask,
        group=group,
        mismatched=group == ids[-1] if mismatches else None,
        token_score=steps.to(dtype) if "process" in case.marks else None,
        score=torch.randint(4, (rows,), generator=draw).to(dtype) / 3,
        logp_old=(logp + noise(0.3)).to(dtype) if case.moved else None,
        logp_ref=(logp + noise(0.5)).to(dtype),
        value=noise(1).to(dtype),
        value_old=noise(1).to(dtype),
    )
