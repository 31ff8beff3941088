"""A recipe: every setting of a run, and the rules between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from groupwise import config
from groupwise.candidates import Need, Objective
from groupwise.data.annotators import Method
from groupwise.data.rows import Kind
from groupwise.data.tasks import is_task
from groupwise.engines.sampling import Sampling, check_temperature
from groupwise.errors import ConfigError, did_you_mean
from groupwise.models.reference import ReferenceUpdate
from groupwise.models.trained import LoraConfig
from groupwise.registry import find_objective, objective_names
from groupwise.rewards.harness import HarnessConfig
from groupwise.train.loop import TrainConfig
from groupwise.train.optim import OptimizerConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """What is trained."""

    path: str  # a hub id, a folder, or `tiny`: a small model made on the spot
    dtype: Literal["float32", "bfloat16", "float64"] = "float32"  # bfloat16: computed in it, trained in float32
    lora: LoraConfig | None = None  # train low-rank adapters instead of all parameters
    gradient_checkpointing: bool = False  # recompute layers in the backward pass: less memory, a third more time
    reference: str | None = None  # what an objective's reference is; null: the model as it was before this run
    reference_update: ReferenceUpdate | None = None  # the reference follows the policy; null: it stands still
    reference_cache: str | None = None  # a folder that keeps its log-probabilities for other runs; null: the run's own
    critic: str | None = None  # for ppo: a model with a scalar head of its own; null: a head on the policy's trunk

    def __post_init__(self) -> None:
        for name in ("path", "reference", "critic"):
            if getattr(self, name) == "":
                raise ConfigError(
                    f"model.{name} = '': give a folder saved by save_pretrained, or a hub id like org/name"
                )


@dataclass(frozen=True, kw_only=True, slots=True)
class DataConfig:
    """What it is trained or evaluated on."""

    path: str | None = None  # a .jsonl, .json or .parquet file, a folder of them, or a hub data set
    task: str | None = None  # or a generator: `sums`, `functions`, `reasoning_gym.chain_sum`, ...
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the task
    size: int | None = None  # rows: taken from the task, or at most from the file
    kind: Kind | None = None  # null: what the columns say; of a task: prompts
    annotators: Method | None = None  # join several annotators' judgements of one item; null: each is a row
    columns: Mapping[str, str] = field(default_factory=dict)  # role -> column, where the names are unusual
    split: str = "train"  # of a hub data set or a folder
    system: str | None = None  # a system message put before every chat prompt that has none
    chat: bool | None = None  # use the chat template; null: if the tokenizer has one
    max_prompt_tokens: int | None = None  # longer prompts are an error, or cut from the left
    max_response_tokens: int | None = None  # longer given responses are an error, or cut from the right
    truncate: bool = False  # cut what is too long instead of stopping; counted and logged

    def __post_init__(self) -> None:
        if (self.path is None) == (self.task is None):
            raise ConfigError(f"data.path = {self.path!r} and data.task = {self.task!r}: give exactly one of them")
        if self.task is not None and not is_task(self.task):
            raise ConfigError(
                f"data.task = {self.task!r} is not a task: give `sums`, `functions` or `reasoning_gym.NAME`"
            )
        if self.task is not None and self.size is None:
            raise ConfigError("data.size is missing: say how many rows to take from the task")
        if self.path == "":
            raise ConfigError("data.path = '': name a file, a folder (`.` is this one) or a hub data set")
        if self.path is not None and self.settings:
            raise ConfigError(f"data.settings = {dict(self.settings)!r} has no effect with data.path: it is for a task")
        if self.task is not None and self.kind not in (None, "demonstration", "pair"):
            raise ConfigError(
                f"data.kind = {self.kind!r} has no effect with data.task: a task gives prompts or, of kind "
                "demonstration or pair, responses"
            )
        for name, given in (("columns", dict(self.columns)), ("annotators", self.annotators)):
            if self.task is not None and given:
                raise ConfigError(f"data.{name} = {given!r} has no effect with data.task: it is for data.path")
        for name in ("size", "max_prompt_tokens", "max_response_tokens"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise ConfigError(f"data.{name} = {value}, must be 1 or more")
        if self.truncate and self.max_prompt_tokens is None and self.max_response_tokens is None:
            raise ConfigError("data.truncate = true has no effect without max_prompt_tokens or max_response_tokens")


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardConfig:
    """What judges a sampled completion."""

    name: str  # a built-in's name, or file.py:function, or package.module:name
    settings: Mapping[str, Any] = field(default_factory=dict)  # its fields
    on_error: Literal["stop", "unjudged"] = "stop"  # when it raises: stop and show the sample, or leave it out
    gold: str | None = None  # a column whose text must score high; null: what the reward itself says is right


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluateConfig:
    """What is measured on held-out data, before, during and after training."""

    data: DataConfig  # rows that training never sees
    every: int | None = None  # steps between measurements; null: before and after only
    samples: int = 1  # completions a prompt; for given preference data nothing is sampled
    temperature: float = 1.0  # 0: the likeliest token
    reward: RewardConfig | None = None  # what judges the samples here; null: what training learns from

    def __post_init__(self) -> None:
        for name in ("every", "samples"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise ConfigError(f"evaluate.{name} = {value}, must be 1 or more")
        check_temperature("evaluate.temperature", self.temperature)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """All settings of a training run."""

    model: ModelConfig
    objective: Mapping[str, Any]  # `name`, and the fields of the objective of that name
    data: DataConfig
    train: TrainConfig
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    sampling: Sampling | None = None  # for data that holds prompts
    reward: RewardConfig | None = None  # likewise
    rewards: HarnessConfig = field(default_factory=HarnessConfig)  # how they are run: processes, limits
    evaluate: EvaluateConfig | None = None

    def __post_init__(self) -> None:
        self.build_objective()
        if (self.sampling is None) != (self.reward is None):
            given, missing = ("sampling", "reward") if self.reward is None else ("reward", "sampling")
            raise ConfigError(f"`{given}` is given and `{missing}` is not: sampled candidates need both")
        for name, data in self._data().items():
            if data.task is not None and data.kind is None and self.sampling is None:
                raise ConfigError(
                    f"{name}.task = {data.task!r} gives prompts: add the sections `sampling`, `reward`, or "
                    f"{name}.kind for given responses: demonstration or pair"
                )
        if self.online and self.objective["name"] in ("sft", "reward_model"):
            raise ConfigError(
                f"objective.name = {self.objective['name']!r} learns from given responses: `sampling` and `reward` "
                "have no effect"
            )
        compares = {*objective_names()} - {"kto", "ppo", "reinforce"}  # of a user's own nothing is known
        if self.sampling is not None and self.sampling.k == 1 and self.objective["name"] in compares:
            raise ConfigError(f"sampling.k = 1: {self.objective['name']} compares candidates, give 2 or more")
        if self.sampling is not None and self.sampling.temperature == 0:
            raise ConfigError("sampling.temperature = 0 gives K equal candidates: training needs a temperature above 0")
        self._check_effect()

    def _data(self) -> dict[str, DataConfig]:
        return {"data": self.data} | ({"evaluate.data": self.evaluate.data} if self.evaluate else {})

    def _check_effect(self) -> None:
        """ConfigError for a setting that the rest of the recipe leaves without effect."""
        for name, data in self._data().items():
            if self.online and data.max_response_tokens is not None:
                raise ConfigError(
                    f"{name}.max_response_tokens = {data.max_response_tokens} has no effect on sampled responses: "
                    "set sampling.max_new_tokens"
                )
        if self.evaluate is not None and not self.online:
            for name, default in (("samples", 1), ("temperature", 1.0), ("reward", None)):
                if (value := getattr(self.evaluate, name)) != default:
                    raise ConfigError(
                        f"evaluate.{name} = {value} has no effect: without the section `sampling` nothing is sampled"
                    )
        for name, need in (
            ("reference", Need.REF),
            ("reference_update", Need.REF),
            ("reference_cache", Need.REF),
            ("critic", Need.OLD | Need.VALUE),
        ):
            value = getattr(self.model, name)
            if value is not None and need not in self.build_objective().needs:
                raise ConfigError(
                    f"model.{name} = {value!r} has no effect: {self.objective['name']} with these settings reads "
                    + ("no reference" if need is Need.REF else "no critic")
                )
        if self.model.reference_cache is not None and (self.online or self.model.reference_update is not None):
            raise ConfigError(
                f"model.reference_cache = {self.model.reference_cache!r} has no effect: only a reference that stands "
                "still has the same log-probabilities of given responses again"
            )
        if self.model.reference_update is not None and self.model.lora is not None and self.model.reference is None:
            raise ConfigError(
                "model.reference_update: with model.lora the reference is the model with its adapters off, which "
                "cannot follow: give model.reference a folder, or leave lora out"
            )

    @property
    def online(self) -> bool:
        """Whether groups are sampled from the policy."""
        return self.sampling is not None

    @property
    def scores(self) -> bool:
        """Whether what is trained is a model that scores, not one that writes."""
        needs = self.build_objective().needs
        return Need.VALUE in needs and Need.OLD not in needs

    def build_objective(self) -> Objective:
        """The objective with its fields."""
        if "name" not in self.objective:
            raise ConfigError("`objective.name` is missing: such as sft, dpo or grpo")
        fields = {key: value for key, value in self.objective.items() if key != "name"}
        return config.build(find_objective(str(self.objective["name"])), fields, "objective")


def recipe_directory() -> Path:
    """Where the recipes that the package brings lie: inside it, or beside the source of an editable install."""
    package = Path(__file__).parent
    inside = package / "recipes"
    return inside if inside.is_dir() else package.parent.parent / "recipes"


def brought_recipes() -> dict[str, Path]:
    """The recipes that the package brings, by their names: `tiny_grpo`, `compare/dpo`."""
    root = recipe_directory()
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.yaml"))}


def find_recipe(name: str) -> Path:
    """A recipe's file from its path, or from the name of one that the package brings."""
    if Path(name).is_file():
        return Path(name)
    brought = brought_recipes()
    if name in brought:
        return brought[name]
    raise ConfigError(f"there is no recipe {name!r}, neither a file nor a name.{did_you_mean(name, brought)}")


def load_recipe(path: Path, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """A recipe file with dotted overrides."""
    values = config.read_yaml(path)
    if "stages" in values:
        raise ConfigError(f"recipe {str(path)!r} has stages, and one run is asked for: `groupwise train` trains them")
    return config.build(Recipe, config.override(values, overrides or {}))


def recipe_of(values: Mapping[str, Any]) -> Recipe:
    """A recipe from plain values, as a run's config.yaml holds them."""
    return config.build(Recipe, values)


def resolved(recipe: Recipe) -> dict[str, Any]:
    """Every setting of the recipe, defaults included, as plain values."""
    objective = {"name": recipe.objective["name"], **config.to_plain(recipe.build_objective())}
    return {**config.to_plain(recipe), "objective": objective}
