"""Rewards: what a text is worth as an answer to a row. One reward a file; the module's name is the reward's."""

from groupwise.rewards.call import Judgement, Reward, score_batch, score_group
from groupwise.rewards.harness import HarnessConfig, make_judge
from groupwise.rewards.load import REWARDS, load_reward
from groupwise.rewards.working import check_reward

__all__ = [
    "REWARDS",
    "HarnessConfig",
    "Judgement",
    "Reward",
    "check_reward",
    "load_reward",
    "make_judge",
    "score_batch",
    "score_group",
]
