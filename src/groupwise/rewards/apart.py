"""Judge in a process that can be killed, also where a reward is called by hand."""

import pickle
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from groupwise.errors import RewardError

TIMEOUT_S = 10.0  # of one judgement
MEMORY_MB = 2048

inside = False  # set by a process that judges: there what is asked is done on the spot


def apart(reward: Any, row: Mapping[str, Any], text: str) -> Any:
    """`reward.judge(row, text)` in a worker process of its own, ten seconds and 2 GiB at most.

    None if it takes longer, more, or ends the process. In a worker process it is a plain call.
    Raises RewardError for what `judge` raises or returns against the contract of rewards.
    """
    if inside:
        return reward.judge(row, text)
    (judgement,) = _pool(pickle.dumps(reward)).submit([row], [text]).result().judgements
    if judgement.error:
        raise RewardError(judgement.error)
    if judgement.parts or judgement.steps:
        return {"score": judgement.score, **judgement.parts} | ({"steps": judgement.steps} if judgement.steps else {})
    return judgement.score


@lru_cache(maxsize=8)  # of rewards with their settings
def _pool(reward: bytes) -> Any:
    from groupwise.rewards.pool import Pool, Setup

    return Pool(Setup(reward=pickle.loads(reward), timeout_s=TIMEOUT_S, memory_mb=MEMORY_MB), workers=1)
