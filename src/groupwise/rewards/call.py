"""Call a reward and hold it to its contract, sample by sample."""

import asyncio
import inspect
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, Literal

from groupwise.errors import MissingExtra, RewardEndedError, RewardError

Row = Mapping[str, Any]
Scored = float | None | Mapping[str, Any]
Reward = Callable[[Any, Any], Any]
"""`(row, text) -> Scored`, also `async`. With an attribute `batched = True`: `(rows, texts) -> Sequence[Scored]`;
with `grouped = True`: `(row, texts) -> Sequence[Scored]`, all candidates of one prompt at once."""

LARGEST = 3.4028234e38  # scores are computed with in float32
OnError = Literal["stop", "unjudged"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What a reward said of one completion."""

    score: float | None  # None: could not be judged
    parts: Mapping[str, float] = field(default_factory=dict)
    steps: tuple[tuple[int, float], ...] = ()  # of a process reward: (characters of the text to the step's end, reward)
    error: str = ""  # why there is no score, if the reward failed and the run goes on
    lost: str = ""  # why there is no score, if judging it took too long, too much memory, or its process's life


def score_group(reward: Reward, row: Row, texts: Sequence[str], *, on_error: OnError = "stop") -> list[Judgement]:
    """Judge the completions of one prompt, in order. As `score_batch`, with one row for all texts."""
    return score_batch(reward, [row] * len(texts), texts, on_error=on_error)


def score_batch(
    reward: Reward, rows: Sequence[Row], texts: Sequence[str], *, on_error: OnError = "stop"
) -> list[Judgement]:
    """Judge text i as an answer to row i.

    A reward that raises, or returns anything but a finite number, None or named finite numbers, fails:
    with on_error="stop" a RewardError shows the sample; with "unjudged" the sample gets no score, and its
    `Judgement.error` says why. A package that is not installed (MissingExtra) and a reward that can judge no
    more (RewardEndedError) always stop.
    Each call gets a copy of its row: what it changes there, no other call sees. An `async` reward judges all texts at
    the same time. For a grouped one, neighbours with one and the same row are a group.
    """
    assert len(rows) == len(texts), f"{len(rows)} rows for {len(texts)} texts"
    if getattr(reward, "grouped", False) is True:
        return _score_groups(reward, rows, texts, on_error)
    if getattr(reward, "batched", False) is True:
        return _score_at_once(reward, rows, texts, on_error)
    if is_async(reward):
        return asyncio.run(score_async(reward, rows, texts, on_error=on_error))
    judgements = []
    for row, text in zip(rows, texts, strict=True):
        try:
            judgements.append(_judgement(reward, reward(dict(row), text)))
        except MissingExtra:
            raise
        except (Exception, SystemExit) as error:
            judgements.append(_failed(reward, error, row, text, on_error))
    return judgements


def reward_name(reward: Reward) -> str:
    """What messages call a reward: its function's or class's name."""
    inner = getattr(reward, "func", reward)  # functools.partial
    return str(getattr(inner, "__name__", type(inner).__name__))


def is_async(reward: Reward) -> bool:
    """Whether a call gives something to wait for."""
    inner = getattr(reward, "func", reward)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004  # the method itself is looked at


async def score_async(
    reward: Reward, rows: Sequence[Row], texts: Sequence[str], *, on_error: OnError, limit_s: float | None = None
) -> list[Judgement]:
    """Judge all texts at the same time with a reward that is `async`; each may take `limit_s` seconds."""

    async def one(row: Row, text: str) -> Judgement:
        try:
            async with asyncio.timeout(limit_s) as clock:
                return _judgement(reward, await reward(dict(row), text))
        except TimeoutError as error:
            if clock.expired():
                return Judgement(score=None, lost=f"took longer than {limit_s:g} s")
            return _failed(reward, error, row, text, on_error)
        except MissingExtra:
            raise
        except (Exception, SystemExit) as error:
            return _failed(reward, error, row, text, on_error)

    return list(await asyncio.gather(*map(one, rows, texts)))


def failure(judgement: Judgement, row: Row, text: str) -> RewardError:
    """The error that stops a run for a judgement that failed: what went wrong, and the sample."""
    return RewardError(
        f"{judgement.error}\n  row: {_shown(dict(row))}\n  text: {_shown(text)}\n{_WAY_OUT}",
    )


def _score_groups(reward: Reward, rows: Sequence[Row], texts: Sequence[str], on_error: OnError) -> list[Judgement]:
    judgements: list[Judgement] = []
    for _, members in groupby(range(len(rows)), key=lambda i: id(rows[i])):
        own = list(members)

        def whole(_: Any, asked: Sequence[str], row: Row = rows[own[0]]) -> Any:
            return reward(dict(row), asked)

        whole.__name__ = reward_name(reward)
        judgements += _score_at_once(whole, [rows[i] for i in own], [texts[i] for i in own], on_error)
    return judgements


def _score_at_once(reward: Reward, rows: Sequence[Row], texts: Sequence[str], on_error: OnError) -> list[Judgement]:
    if not texts:
        return []
    try:
        values = _values(reward([dict(row) for row in rows], list(texts)), len(texts))
    except MissingExtra:
        raise
    except (Exception, SystemExit) as error:
        failed = _failed(reward, error, rows[0], texts[0], on_error, of=len(texts))
        return [failed] * len(texts)
    judgements = []
    for value, row, text in zip(values, rows, texts, strict=True):
        try:
            judgements.append(_judgement(reward, value))
        except RewardError as error:
            judgements.append(_failed(reward, error, row, text, on_error))
    return judgements


def _values(returned: Any, expected: int) -> list[Any]:
    """The values a batched reward returned, one a text; never one value for all."""
    if hasattr(returned, "tolist"):  # a tensor or an array; a scalar becomes a number and is refused below
        returned = returned.tolist()
    if not isinstance(returned, Sequence) or isinstance(returned, str):
        raise RewardError(
            f"returned {_shown(returned)} ({type(returned).__name__}) for {expected} texts: "
            "a batched reward returns a list with one value for each text"
        )
    if len(returned) != expected:
        raise RewardError(f"returned {len(returned)} values for {expected} texts: it must return one for each text")
    return list(returned)


def _judgement(reward: Reward, value: Any) -> Judgement:
    if value is None:
        return Judgement(score=None)
    if not isinstance(value, Mapping):
        return Judgement(score=_number(value, "the score"))
    if not value or not all(isinstance(name, str) for name in value):
        raise RewardError(f"returned {_shown(value)}: named parts need at least one part, and names that are strings")
    steps = _steps(value["steps"]) if "steps" in value else ()
    parts = {name: _number(part, f"part `{name}`") for name, part in value.items() if name != "steps"}
    score = parts.pop("score", None)
    if score is None and steps and not parts:
        score = _number(sum(reward for _, reward in steps) / len(steps), "the mean of steps")
    score = _number(sum(parts.values()), "the sum of parts") if score is None else score
    return Judgement(score=score, parts=parts, steps=steps)


def _steps(value: Any) -> tuple[tuple[int, float], ...]:
    """A process reward's steps: [(where the step ends in the text, its reward), ...], in order."""
    rule = "`steps` is a list of (where a step ends in the text, its reward), in order, with ends from 1 on"
    try:
        steps = [(int(end), _number(reward, "a step's reward")) for end, reward in value]
    except (TypeError, ValueError) as error:
        raise RewardError(f"returned {_shown(value)} as steps: {rule}") from error
    ends = [end for end, _ in steps]
    if not steps or ends[0] < 1 or any(left >= right for left, right in pairwise(ends)):
        raise RewardError(f"returned {_shown(value)} as steps: {rule}")
    return tuple(steps)


def _number(value: Any, what: str) -> float:
    if getattr(value, "ndim", None) == 0:  # a scalar of numpy or torch
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise RewardError(
            f"returned {_shown(value)} ({type(value).__name__}) as {what}: a score is a number, "
            "None for `cannot be judged`, or a dict of named numbers"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not abs(number) <= LARGEST:
        raise RewardError(
            f"returned {number} as {what}: it must be finite, also in float32; return None for `cannot be judged`"
        )
    return number


def _failed(reward: Reward, error: BaseException, row: Row, text: str, on_error: OnError, *, of: int = 1) -> Judgement:
    if isinstance(error, RewardEndedError):
        raise RewardEndedError(f"reward `{reward_name(reward)}` {error}") from error
    if isinstance(error, MemoryError):
        return Judgement(score=None, lost="ran out of memory")
    said = str(error) if isinstance(error, RewardError) else f"raised {type(error).__name__}: {error}"
    if on_error == "unjudged":
        return Judgement(score=None, error=f"reward `{reward_name(reward)}` {said}")
    first = f", the first of {of}" if of > 1 else ""
    raise RewardError(
        f"reward `{reward_name(reward)}` {said}\n  row: {_shown(dict(row))}\n  text{first}: {_shown(text)}\n{_WAY_OUT}"
    ) from error


_WAY_OUT = 'To count such samples as unjudged and go on, set on_error="unjudged".'


def _shown(value: Any, limit: int = 400) -> str:
    """Its repr, the middle left out if it is long."""
    text = repr(value)
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]} ... {text[-limit // 2 :]} ({len(text):,} characters)"
