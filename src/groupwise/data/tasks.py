"""Procedural tasks: prompts with answers, made on the spot from a seed."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, count
from math import comb
from random import Random
from typing import Any, Literal

from groupwise.data.functions import function_row, problems
from groupwise.data.written_sums import sum_responses
from groupwise.errors import ConfigError, MissingExtra, did_you_mean

Row = dict[str, Any]
Split = Literal["train", "heldout"]
REASONING_GYM = "reasoning_gym."
TASKS = ("sums", "functions", f"{REASONING_GYM}chain_sum")  # of reasoning-gym's, one
HELDOUT_SHARE = 5  # one problem in five is held out


def is_task(name: str) -> bool:
    """Whether `name` means a procedural task, not a file."""
    return name in ("sums", "functions") or name.startswith(REASONING_GYM)


def task_rows(
    name: str, *, size: int, seed: int, kind: Literal["demonstration", "pair"] | None = None, **settings: Any
) -> list[Row]:
    """`size` rows `{"prompt": str, "answer": str, ...}` of a task; JSON can hold all of them.

    `kind` adds given responses: "demonstration" a `completion` that is right, "pair" a right one `chosen` and a
    wrong one `rejected` (of sums only: a slip in one column).

    `name` is "sums" (settings: `sums`), "functions" (settings: `functions`) or "reasoning_gym.NAME" (settings:
    those of the task's own configuration; rows also hold the `metadata` that its verifier reads). Each takes
    `split`: "train" or "heldout", default "train". A hash of the problem alone decides its side, so the two never
    share a problem, whatever their seeds. Held-out rows are distinct; training rows may repeat. The rows of a
    smaller size are the first of a larger.

    Raises ConfigError for an unknown task or setting, and for more held-out rows than there are problems;
    MissingExtra without the extra "reasoning-gym".
    """
    if size < 1:
        raise ConfigError(f"task {name}: size = {size}, must be 1 or more")
    split = settings.pop("split", "train")
    if split not in ("train", "heldout"):
        raise ConfigError(f"task {name}: split = {split!r}, must be `train` or `heldout`")
    if name == "sums":
        _check_settings(name, settings, ("digits", "style", "terms"))
        rows, worked = sums(size=size, seed=seed, split=split, **settings), settings.get("style") == "worked"
        if kind is None:
            return rows
        drawn = (Random(f"{seed}:{i}:slip") for i in count())
        return [{**row, **sum_responses(row["prompt"], kind, worked=worked, random=next(drawn))} for row in rows]
    if name == "functions":
        _check_settings(name, settings, ("level", "fenced"))
        _check_not_pairs(name, kind)
        rows = functions(size=size, seed=seed, split=split, **settings)
        return rows if kind else [{k: v for k, v in row.items() if k != "completion"} for row in rows]
    if name.startswith(REASONING_GYM):
        _check_not_pairs(name, kind)
        rows = _reasoning_gym(name.removeprefix(REASONING_GYM), size=size, seed=seed, split=split, settings=settings)
        return rows if kind is None else [{**row, "completion": row["answer"]} for row in rows]
    raise ConfigError(
        f"there is no task `{name}`.{did_you_mean(name, ['sums', 'functions', REASONING_GYM + 'chain_sum'])}"
    )


def functions(*, size: int, seed: int, split: Split = "train", level: int = 2, fenced: bool = True) -> list[Row]:
    """Short Python functions to write, with calls that test them: `entry`, `inputs`, `expected`, as `unit_tests` reads.

    `level` is how many operations, at most, a function puts together: 1 such as the sum of a list; 2 of its even
    numbers; 3 of their squares. Given responses stand in a fenced block, or bare. Rows repeat problems where there
    are fewer than `size`; each time with other calls.
    """
    if type(level) is not int or not 1 <= level <= 3:
        raise ConfigError(f"functions: level = {level!r}, must be 1, 2 or 3")
    mine = [problem for problem in problems(level) if _side(problem) == split]
    if split == "heldout" and len(mine) < size:
        raise ConfigError(
            f"functions: level = {level} has only {len(mine)} distinct held-out problems, size = {size} were asked "
            "for: ask for fewer, or for a higher level"
        )
    order = Random(f"{seed}:functions").sample(mine, len(mine))
    rows = []
    for i in range(size):
        row = function_row(order[i % len(order)], seed + i // len(order))
        code = row["solution"]
        rows.append({**row, "completion": f"```python\n{code}\n```" if fenced else code})
    return rows


def _check_settings(name: str, settings: Mapping[str, Any], known: Sequence[str]) -> None:
    for setting in settings:
        if setting not in known:
            raise ConfigError(f"task {name} has no setting `{setting}`.{did_you_mean(setting, (*known, 'split'))}")


def _check_not_pairs(name: str, kind: str | None) -> None:
    if kind == "pair":
        raise ConfigError(f"task {name}: kind = 'pair': it knows no wrong answers; `sums` gives pairs")


def sums(
    *,
    size: int,
    seed: int,
    split: Split = "train",
    digits: int | Sequence[int] = (1, 2),
    terms: int = 2,
    style: Literal["bare", "chat", "worked"] = "bare",
) -> list[Row]:
    """Additions of `terms` numbers, each with `digits` digits or, for a pair (least, most), any number between.

    Style "bare": "12+7="; "chat": "What is 12 + 7? Answer with the number only."; "worked": as bare, and given
    responses write the digits out with their carries, "2+7=9,1+0=1:19". The order of the terms does not make
    another problem: 7+12 is on the same side as 12+7. A training row depends on the seed and its place alone.
    """
    given = [digits, digits] if isinstance(digits, int) else digits
    whole = isinstance(given, Sequence) and len(given) == 2 and all(type(number) is int for number in given)
    least, most = given if whole else (0, 0)
    if not 1 <= least <= most <= 18:
        raise ConfigError(
            f"sums: digits = {digits!r}, must be a whole number from 1 to 18, or two such, least and most"
        )
    if type(terms) is not int or not 1 <= terms <= 100:
        raise ConfigError(f"sums: terms = {terms!r}, must be a whole number from 1 to 100")
    if style not in ("bare", "chat", "worked"):
        raise ConfigError(f"sums: style = {style!r}, must be `bare`, `chat` or `worked`")
    distinct = _count_sums(range(_lowest(least), 10**most), terms, split=split, enough=size)
    if distinct < (size if split == "heldout" else 1):
        raise ConfigError(
            f"sums: digits = {digits}, terms = {terms} has only {distinct} distinct {split} problems, "
            f"size = {size} were asked for: ask for fewer, or for more digits or terms"
        )
    rows: list[Row] = []
    seen = set()
    draws: Iterator[tuple[int, ...]]
    if split == "heldout":  # one stream of draws, to be able to leave out what was drawn before
        draws = (_draw(Random(f"{seed}:{i}"), least, most, terms) for i in count())
    else:
        draws = (_draw_train(Random(f"{seed}:{i}"), least, most, terms) for i in count())
    while len(rows) < size:
        numbers = next(draws)
        problem = tuple(sorted(numbers))
        if _side(problem) != split or (split == "heldout" and problem in seen):
            continue
        seen.add(problem)
        prompt = "+".join(map(str, numbers)) + "="
        if style == "chat":
            prompt = f"What is {' + '.join(map(str, numbers))}? Answer with the number only."
        rows.append({"prompt": prompt, "answer": str(sum(numbers))})
    return rows


def _draw(random: Random, least: int, most: int, terms: int) -> tuple[int, ...]:
    sizes = [random.randint(least, most) for _ in range(terms)]
    return tuple(random.randrange(_lowest(size), 10**size) for size in sizes)


def _draw_train(random: Random, least: int, most: int, terms: int) -> tuple[int, ...]:
    while _side(sorted(numbers := _draw(random, least, most, terms))) != "train":
        pass
    return numbers


def _lowest(digits: int) -> int:
    return 0 if digits == 1 else 10 ** (digits - 1)


def _count_sums(values: range, terms: int, *, split: Split, enough: int) -> int:
    """Distinct problems on this side; where there are far more than enough, an estimate."""
    total = comb(len(values) + terms - 1, terms)
    if total > 100 * HELDOUT_SHARE * enough:
        return total // HELDOUT_SHARE
    return sum(_side(problem) == split for problem in combinations_with_replacement(values, terms))


def _side(problem: Any) -> Split:
    digest = hashlib.sha256(json.dumps(problem).encode()).digest()
    return "heldout" if int.from_bytes(digest[:8]) % HELDOUT_SHARE == 0 else "train"


def _reasoning_gym(task: str, *, size: int, seed: int, split: Split, settings: Mapping[str, Any]) -> list[Row]:
    draws = 100 + 20 * size
    dataset = _reasoning_gym_dataset(task, settings, draws, seed)
    rows: list[Row] = []
    seen = set()
    for index in range(draws):
        entry = dataset[index]
        question = entry["question"]
        if _side(question) != split or (split == "heldout" and question in seen):
            continue
        seen.add(question)
        rows.append(_reasoning_gym_row(task, entry))
        if len(rows) == 1:
            _check_verifier(task, dataset, rows[0])
        if len(rows) == size:
            return rows
    raise ConfigError(
        f"task {REASONING_GYM}{task}: {draws:,} draws gave {len(rows)} {'distinct ' * (split == 'heldout')}"
        f"{split} problems, size = {size} were asked for: ask for fewer, or set the task to more variety"
    )


def _reasoning_gym_dataset(task: str, settings: Mapping[str, Any], size: int, seed: int) -> Any:
    try:
        from reasoning_gym.factory import DATASETS
    except ImportError as error:
        raise MissingExtra("reasoning-gym", "reasoning-gym", f"the task {REASONING_GYM}{task}") from error
    if task not in DATASETS:
        raise ConfigError(f"reasoning-gym has no task `{task}`.{did_you_mean(task, DATASETS)}")
    dataset_type, config_type = DATASETS[task]
    known = {field.name for field in dataclasses.fields(config_type)} - {"seed", "size"}
    for name in settings:
        if name not in known:
            raise ConfigError(f"task {REASONING_GYM}{task} has no setting `{name}`.{did_you_mean(name, known)}")
    # Problem i is drawn from seed + i: neighbouring seeds would share nearly all of their problems.
    spread = Random(f"{seed}:{task}").getrandbits(31)
    try:
        return dataset_type(config=config_type(**settings, seed=spread, size=size))
    except (AssertionError, TypeError, ValueError) as error:
        raise ConfigError(f"task {REASONING_GYM}{task} refuses {dict(settings)}: {error}") from error


def _reasoning_gym_row(task: str, entry: Mapping[str, Any]) -> Row:
    try:
        metadata = json.loads(json.dumps(entry["metadata"]))
    except TypeError as error:
        raise ConfigError(f"task {REASONING_GYM}{task} cannot be used: its rows do not fit in JSON: {error}") from error
    return {"prompt": entry["question"], "answer": entry["answer"], "metadata": metadata}


def _check_verifier(task: str, dataset: Any, row: Row) -> None:
    """Refuse a task whose verifier turns down the right answer, or takes or raises on anything."""
    entry = {"question": row["prompt"], "answer": row["answer"], "metadata": row["metadata"]}
    try:
        right, wrong = (dataset.score_answer(text, entry) for text in (row["answer"], "no such answer"))
    except Exception as error:
        raise ConfigError(f"task {REASONING_GYM}{task} cannot be used: its verifier raised {error!r}") from error
    if right < 1 or wrong >= 1:
        raise ConfigError(
            f"task {REASONING_GYM}{task} cannot be used: its verifier gives {right} to its own answer "
            f"and {wrong} to a meaningless one"
        )
