"""A recipe of stages, such as SFT -> DPO -> GRPO, checked before anything is trained.

The recipe is a list `stages` of recipes, each with a `name`; what stands beside it is what they have in common. A stage
starts from the model of the last stage that trained a policy, and may name an earlier stage's as `stages.NAME`.
"""

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from groupwise import config
from groupwise.errors import ConfigError, DataError, RewardError, did_you_mean
from groupwise.recipe import Recipe, RewardConfig, recipe_of, resolved
from groupwise.runs.schema import MODEL

STAGES = "stages"
RESULT = f"{STAGES}."  # `stages.NAME`: the model that stage NAME leaves


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """A recipe in a pipeline; models that other stages leave stand in it as `stages.NAME`."""

    name: str
    recipe: Recipe

    def placed(self, directory: Path) -> Recipe:
        """The recipe with the folders that the names mean in this pipeline's directory."""

        def place(path: Any) -> Any:
            return str(directory / path.removeprefix(RESULT) / MODEL) if _is_result(path) else path

        def placed(reward: RewardConfig | None) -> RewardConfig | None:
            settings = {key: place(value) for key, value in (reward.settings if reward else {}).items()}
            return replace(reward, settings=settings) if reward else None

        model, evaluate = self.recipe.model, self.recipe.evaluate
        model = replace(model, path=place(model.path), reference=place(model.reference), critic=place(model.critic))
        evaluate = replace(evaluate, reward=placed(evaluate.reward)) if evaluate else None
        return replace(self.recipe, model=model, reward=placed(self.recipe.reward), evaluate=evaluate)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages in the order of training."""

    stages: tuple[Stage, ...]

    @property
    def last(self) -> Stage:
        """The stage whose model is the pipeline's: the last that trains a policy."""
        return next((s for s in reversed(self.stages) if not s.recipe.scores), self.stages[-1])

    def resolved(self) -> dict[str, Any]:
        """Every setting of every stage, as plain values."""
        return {STAGES: [{"name": stage.name, **resolved(stage.recipe)} for stage in self.stages]}


def pipeline_of(values: Mapping[str, Any], overrides: Mapping[str, Any] | None = None) -> Pipeline:
    """A pipeline from plain values, all of its settings checked.

    Overrides are dotted: `stages.NAME.train.steps` is that stage's, `train.steps` takes the place of all stages'.
    """
    common, sections = _overridden(values, overrides or {})
    stages: list[Stage] = []
    for section in sections:
        stages.append(_stage(section, common, stages))
    return Pipeline(tuple(stages))


def is_pipeline_recipe(values: Mapping[str, Any]) -> bool:
    """Whether a recipe's values are those of a pipeline."""
    return STAGES in values


def _stage(section: Mapping[str, Any], common: Mapping[str, Any], earlier: Sequence[Stage]) -> Stage:
    name, own = section["name"], {key: value for key, value in section.items() if key != "name"}
    values = _merged(common, own)
    policies = [stage.name for stage in earlier if not stage.recipe.scores]
    given = own.get("model")
    if policies and not (isinstance(given, Mapping) and "path" in given):
        values = config.override(values, {"model.path": RESULT + policies[-1]})
    with naming(name):
        recipe = recipe_of(values)
        _check_results(recipe, earlier)
    return Stage(name=name, recipe=recipe)


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A stage's settings over those in common. A section that means something else by `name` or source stands alone."""
    both = dict(common)
    for key, value in own.items():
        below = common.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping) and not _differs(below, value):
            value = _merged(below, value)
        both[key] = value
    return both


def _differs(below: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    renamed = "name" in below and value.get("name", below["name"]) != below["name"]
    return renamed or ("task" in below and "path" in value) or ("path" in below and "task" in value)


def _overridden(values: Mapping[str, Any], overrides: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the stages have in common, and each stage's own, with the overrides in them."""
    common = {key: value for key, value in values.items() if key != STAGES}
    stages = {section["name"]: section for section in _sections(values[STAGES])}
    for dotted, value in sorted(overrides.items(), key=lambda item: item[0].startswith(RESULT)):
        if dotted.startswith(RESULT) or dotted == STAGES:
            name, _, setting = dotted.removeprefix(RESULT).partition(".")
            if name not in stages or setting in ("", "name"):
                raise ConfigError(f"--{dotted}: write --{RESULT}NAME.section.key.{did_you_mean(name, stages)}")
            stages[name] = config.override(stages[name], {setting: value})
            continue
        common = config.override(common, {dotted: value})
        for name, section in stages.items():
            if _gives(section, dotted):
                stages[name] = config.override(section, {dotted: value})
    return common, list(stages.values())


def _gives(section: Any, dotted: str) -> bool:
    """Whether a stage gives this setting itself, as other than an earlier stage's result."""
    for key in dotted.split("."):
        if not isinstance(section, Mapping) or key not in section:
            return False
        section = section[key]
    return not _is_result(section)


def _sections(given: Any) -> list[dict[str, Any]]:
    """The stages as given, each a section with a usable name of its own."""
    if not isinstance(given, list) or not given:
        raise ConfigError(f"`{STAGES}` = {given!r}, must be a list of stages, each with a `name` and its sections")
    names: list[str] = []
    for i, section in enumerate(given):
        name = section.get("name") if isinstance(section, Mapping) else None
        if not isinstance(name, str) or not name.isidentifier() or name in (MODEL, *names):
            raise ConfigError(
                f"{STAGES}[{i}].name = {name!r}: each stage needs a name of its own of letters, digits and _, other "
                f"than `{MODEL}`: its folder is called so"
            )
        names.append(name)
    return copy.deepcopy(given)


def _check_results(recipe: Recipe, earlier: Sequence[Stage]) -> None:
    """ConfigError for a `stages.NAME` that no earlier stage leaves, or that is not of the kind needed there."""
    model = recipe.model
    named: dict[str, tuple[Any, bool | None]] = {  # where -> (value, whether it must be a model that scores)
        "model.path": (model.path, None if recipe.scores else False),
        "model.reference": (model.reference, False),
        "model.critic": (model.critic, None),
    }
    rewards = {"reward": recipe.reward, "evaluate.reward": recipe.evaluate.reward if recipe.evaluate else None}
    for section, reward in rewards.items():
        for key, value in (reward.settings if reward else {}).items():
            named[f"{section}.settings.{key}"] = (value, True if reward and reward.name == "model" else None)
    known = {stage.name: stage.recipe for stage in earlier}
    for where, (value, scores) in named.items():
        if not _is_result(value):
            continue
        name = value.removeprefix(RESULT)
        if name not in known:
            raise ConfigError(f"{where} = {value!r}: no earlier stage has this name.{did_you_mean(name, known)}")
        if scores is not None and known[name].scores != scores:
            kinds = ("one that writes", "one that scores, of a stage with objective.name: reward_model")
            raise ConfigError(f"{where} = {value!r} is not the model that is needed there: give {kinds[scores]}")


def _is_result(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(RESULT)


@contextlib.contextmanager
def naming(stage: str) -> Iterator[None]:
    """Errors of what is done inside say which stage they are about."""
    try:
        yield
    except (ConfigError, DataError, RewardError) as error:
        raise type(error)(f"stage {stage}: {error}") from error
