"""What a recipe's sections `data` and `reward` name: rows, prompts, groups, and what judges."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from groupwise.candidates import Group, Objective
from groupwise.data.annotators import Aggregated, aggregate
from groupwise.data.prompts import PromptRow, prompts_from_records, prompts_from_rows
from groupwise.data.records import Record, read_records
from groupwise.data.render import Renderer
from groupwise.data.rows import read_row
from groupwise.data.tasks import task_rows
from groupwise.errors import ConfigError, DataError
from groupwise.models.load import end_token_ids
from groupwise.models.trained import Trained
from groupwise.recipe import DataConfig, Recipe, RewardConfig
from groupwise.rewards.harness import HarnessConfig, Judge, make_judge


def make_renderer(policy: Trained, data: DataConfig) -> Renderer:
    """How this data becomes this policy's tokens."""
    return Renderer(
        policy.tokenizer,
        max_prompt_tokens=data.max_prompt_tokens,
        max_response_tokens=data.max_response_tokens,
        truncate=data.truncate,
        chat=data.chat,
        system=data.system,
        end_ids=end_token_ids(policy.model, policy.tokenizer),
    )


def make_scorer(reward: RewardConfig, config: HarnessConfig | None = None) -> Judge:
    """The reward behind its contract, and behind what it is run in."""
    return make_judge(reward.name, reward.settings, config=config, on_error=reward.on_error)


def load_rows(data: DataConfig, seed: int) -> list[Mapping[str, Any]]:
    """The rows of a task or a file that hold prompts, with all their columns."""
    if data.task is not None:
        return [*_prompt_rows(data, seed)]
    return [record.row for record in _prompt_records(data, seed)]


def load_prompts(data: DataConfig, renderer: Renderer, seed: int) -> list[PromptRow]:
    """Prompts from a task or from records."""
    if data.task is not None:
        return prompts_from_rows(_prompt_rows(data, seed), renderer, data.task)
    return prompts_from_records(_prompt_records(data, seed), renderer)


def load_groups(records: Sequence[Record], renderer: Renderer, objective: Objective) -> list[Group]:
    """The records as groups; for an objective that takes thumbs, each response in a group of its own."""
    groups = [renderer.group(record) for record in records]
    if objective.takes == "thumbs":
        groups = [replace(group, completions=(c,)) for group in groups for c in group.completions]
    return groups


def load_records(
    data: DataConfig,
    objective: Objective,
    *,
    seed: int,
    note: Callable[[Aggregated], object] = lambda joined: None,
) -> list[Record]:
    """Given responses, of a kind that the objective can learn from.

    `note` is told what became of several annotators' judgements, where `data.annotators` joins them.
    """
    if objective.takes == "demonstrations" and data.kind not in (None, "demonstration"):
        raise ConfigError(
            f"data.kind = {data.kind!r}: sft learns every response it is given, so its rows are demonstrations; "
            "leave data.kind out, and of pairs and candidates the best response is taken"
        )
    kind = "demonstration" if objective.takes == "demonstrations" else data.kind
    if kind == "demonstration":
        _check_no_annotators(data, "demonstrations are learned as they are")
    records = _records(data, kind, seed)
    if data.annotators is not None:
        joined = aggregate(records, data.annotators)
        note(joined)
        records = list(joined.records)
        if not records:
            raise DataError(f"{data.path}: {joined}: nothing is left to train on; leave data.annotators out")
    found = records[0].kind
    if objective.takes == "comparisons" and found not in ("pair", "candidates"):
        raise DataError(
            f"{records[0].origin}: these rows are of kind `{found}`, and {type(objective).__name__} compares responses "
            "to one prompt: give chosen/rejected pairs or scored candidates, or use objective.name: "
            + ("kto" if found == "thumb" else "sft")
        )
    if objective.takes == "thumbs" and found in ("demonstration", "prompt"):
        raise DataError(
            f"{records[0].origin}: these rows are of kind `{found}`, and {type(objective).__name__} learns from "
            "thumbs: give a column `label` beside each response, or chosen/rejected pairs"
        )
    return records


def check_recipe(recipe: Recipe) -> None:
    """What can be known of a recipe without its models: that its reward loads and that its data can be read."""
    for reward in (recipe.reward, recipe.evaluate.reward if recipe.evaluate else None):
        if reward is not None:
            make_scorer(reward)
    for data in [recipe.data, *([recipe.evaluate.data] if recipe.evaluate else [])]:
        if not recipe.online:
            load_records(data, recipe.build_objective(), seed=recipe.train.seed)
        elif data.task is not None:
            _prompt_rows(data, recipe.train.seed)
        else:
            _prompt_records(data, recipe.train.seed)


def check_room(policy: Trained, lengths: Iterable[tuple[str, int]]) -> None:
    """DataError for the first of these (origin, tokens of prompt and response) that the model has no positions for."""
    for origin, tokens in lengths:
        if policy.positions is not None and tokens > policy.positions:
            raise DataError(
                f"{origin}: prompt and response come to {tokens} tokens, the model has {policy.positions} positions: "
                "sample fewer tokens, set data.max_prompt_tokens and data.max_response_tokens, or remove the row"
            )


def _check_no_annotators(data: DataConfig, why: str) -> None:
    if data.annotators is not None:
        raise ConfigError(f"data.annotators = {data.annotators!r} has no effect: {why}; leave it out")


def _prompt_rows(data: DataConfig, seed: int) -> list[dict[str, Any]]:
    if data.kind is not None:
        raise ConfigError(f"data.kind = {data.kind!r} has no effect: prompts are sampled from; leave it out")
    return _task_rows(data, None, seed)


def _prompt_records(data: DataConfig, seed: int) -> list[Record]:
    _check_no_annotators(data, "prompts are sampled from")
    return _records(data, data.kind or "prompt", seed)


def _task_rows(data: DataConfig, kind: Any, seed: int) -> list[dict[str, Any]]:
    assert data.task is not None
    assert data.size is not None
    return task_rows(data.task, size=data.size, seed=seed, kind=kind, split=data.split, **data.settings)


def _records(data: DataConfig, kind: Any, seed: int) -> list[Record]:
    if data.task is not None:
        return [read_row(row, f"{data.task}:{i}", {}, kind) for i, row in enumerate(_task_rows(data, kind, seed))]
    assert data.path is not None
    return read_records(data.path, columns=data.columns, kind=kind, limit=data.size, split=data.split)
