"""The methods, one a file. A module's name is the method's name."""

from groupwise.objectives.dpo import DPO
from groupwise.objectives.grpo import GRPO
from groupwise.objectives.sft import SFT

__all__ = ["DPO", "GRPO", "SFT"]
