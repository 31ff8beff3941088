"""What can judge a model's own answers to a data set's prompts."""

from collections.abc import Mapping, Sequence
from typing import Any

from groupwise.data.messages import shown
from groupwise.data.rows import Record
from groupwise.errors import ConfigError, DataError, RewardError
from groupwise.rewards import load_reward
from groupwise.rewards.exact_answer import ExactAnswer

SHORT = 40  # characters of an answer in words that a model can be expected to give alone and to the letter


def named_judge(name: str, **settings: Any) -> Mapping[str, Any]:
    """A recipe's section `reward`. Raises ConfigError for one that does not exist, naming the nearest."""
    load_reward(name, **settings)
    return {"name": name, **({"settings": settings} if settings else {})}


def verifier(records: Sequence[Record]) -> tuple[Mapping[str, Any], str]:
    """The reward that compares with the rows' own answers, and what to call it in a sentence.

    DataError for a row without an answer; ConfigError where answers are texts that cannot be compared to the letter.
    """
    missing = [record.origin for record in records if "answer" not in record.row]
    if missing:
        raise DataError(
            f"{missing[0]}: has no answer, and so {len(missing):,} of {len(records):,} rows: nothing judges what the "
            "model writes there; give --checker REWARD, or leave these rows out"
        )
    if all(_has_verifier(record.row) for record in records):
        return named_judge("reasoning_gym"), "the task's own verifier"
    words = next((record for record in records if not _is_number(record.row)), None)
    if words is None:
        return named_judge("exact_answer"), "a comparison with the number in `answer` (the reward `exact_answer`)"
    longest = max(records, key=lambda record: len(str(record.row["answer"])))
    if len(str(longest.row["answer"])) > SHORT:
        raise ConfigError(
            f"{longest.origin}: the answer is {shown(longest.row['answer'])}, over {SHORT} characters, which no model "
            "gives to the letter: name a reward that judges such answers, --checker FILE.py:FUNCTION"
        )
    return named_judge("exact_answer", extract="whole"), "a comparison of the whole text with `answer`"


def _has_verifier(row: Mapping[str, Any]) -> bool:
    metadata = row.get("metadata")
    return isinstance(metadata, Mapping) and "source_dataset" in metadata


def _is_number(row: Mapping[str, Any]) -> bool:
    try:
        ExactAnswer()(row, "")
    except RewardError:
        return False
    return True
