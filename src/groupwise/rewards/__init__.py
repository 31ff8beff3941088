"""Rewards: what a text is worth as an answer to a row. One reward a file; the module's name is the reward's."""

from groupwise.rewards.call import Judgement, Reward, score_batch, score_group
from groupwise.rewards.load import REWARDS, load_reward

__all__ = ["REWARDS", "Judgement", "Reward", "load_reward", "score_batch", "score_group"]
