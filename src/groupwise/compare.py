"""Several methods trained from one model with the same seeds and budget, all judged by samples for the same prompts."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from groupwise import config
from groupwise.engines.sampling import Sampling
from groupwise.errors import ConfigError, DataError, ModelError, RewardError, TrainingError
from groupwise.evaluate.comparison import BEFORE, SCORES, RunResult, run_result
from groupwise.evaluate.comparison_files import write_comparison
from groupwise.evaluate.sampled import Sampled, evaluate_sampled
from groupwise.inputs import check_recipe, check_room, load_prompts, make_renderer, make_scorer
from groupwise.models.policy import Policy
from groupwise.models.reference import FrozenReference
from groupwise.recipe import EvaluateConfig, Recipe, RewardConfig, recipe_of, resolved
from groupwise.rewards.harness import HarnessConfig
from groupwise.runner import TINY, Runner
from groupwise.runs import atomic, lock
from groupwise.runs.read import read_settings
from groupwise.runs.schema import BASE, CONFIG, LOCK
from groupwise.train.distributed import join_world
from groupwise.train.report import StepReport

SETTINGS = "compare.yaml"
JUDGING = ("evaluate", "sampling", "reward", "rewards")  # sections that say how held-out samples are drawn and judged
SEED = 0  # of the held-out prompts and samples: the same for every method and every seed of training


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What is compared, and how it is judged."""

    methods: Mapping[str, Recipe]  # by the names of the recipes
    seeds: tuple[int, ...]
    evaluate: EvaluateConfig
    sampling: Sampling  # of the held-out samples
    reward: RewardConfig  # that judges them
    rewards: HarnessConfig  # how it is run
    judged_as: str | None  # the recipe that says so
    unused: tuple[str, ...]  # recipes whose own `evaluate` says something else

    def recipe(self, method: str, seed: int) -> Recipe:
        """A method's, with this seed; held-out measurements are the comparison's."""
        recipe = self.methods[method]
        return replace(recipe, train=replace(recipe.train, seed=seed), evaluate=None)

    def resolved(self) -> dict[str, Any]:
        """Every setting as plain values; the methods' without seed and `evaluate`, which are the comparison's."""
        methods = {name: resolved(recipe) for name, recipe in self.methods.items()}
        for method in methods.values():
            del method["train"]["seed"], method["evaluate"]
        judge = {name: config.to_plain(getattr(self, name)) for name in JUDGING}
        return {"seeds": list(self.seeds), "judge": judge, "methods": methods}


def comparison_of(
    recipes: Mapping[str, Mapping[str, Any]],
    overrides: Mapping[str, Any] | None = None,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    tokens: int | None = None,
) -> Comparison:
    """A comparison of recipes' plain values by their names, all of their settings checked.

    All are judged as the first recipe that samples says, by its `evaluate`, `sampling`, `reward` and `rewards`.
    Overrides are dotted and hold for every recipe, but for those of these sections where a recipe learns from given
    responses. `tokens` ends each run after the step in which it has computed so many, however many steps that takes.
    """
    if not recipes or not seeds or len({*seeds}) < len(seeds):
        raise ConfigError(f"seeds = {list(seeds)} for {len(recipes)} recipes: give one or more of each, no seed twice")
    judging = {key: value for key, value in (overrides or {}).items() if key.partition(".")[0] in JUDGING}
    common = {key: value for key, value in (overrides or {}).items() if key not in judging}
    if tokens is not None:
        if tokens < 1:
            raise ConfigError(f"tokens = {tokens}, must be 1 or more")
        common |= {"train.tokens": tokens, "train.steps": tokens}  # a step computes a token at least
    values: dict[str, dict[str, Any]] = {}
    methods: dict[str, Recipe] = {}
    for name, given in recipes.items():
        with _naming(name):
            values[name] = config.override(given, common | (judging if given.get("sampling") else {}))
            methods[name] = _checked(values[name])
    _check_one_model(methods)
    first = next((name for name, recipe in methods.items() if recipe.online), None)
    judge = {key: values[first].get(key) for key in JUDGING} if first else {}
    evaluate, sampling, reward = _judge(config.override(judge, judging), first)
    own = {name: recipe.evaluate for name, recipe in methods.items() if recipe.evaluate is not None}
    return Comparison(
        methods=methods,
        seeds=tuple(seeds),
        evaluate=evaluate,
        sampling=sampling,
        reward=reward,
        rewards=config.build(HarnessConfig, config.override(judge, judging).get("rewards") or {}, "rewards"),
        judged_as=first,
        unused=tuple(name for name, given in own.items() if given != evaluate),
    )


class Start:
    """The model that the methods start from, and the judge: the same prompts, seeds and reward each time."""

    def __init__(self, path: str, comparison: Comparison, *, dtype: str) -> None:
        evaluate, sampling = comparison.evaluate, comparison.sampling
        policy = Policy.load(path, dtype=dtype)
        policy.temperature = sampling.temperature or 1.0
        renderer = make_renderer(policy, evaluate.data)
        self.prompts = load_prompts(evaluate.data, renderer, SEED)
        check_room(policy, ((p.origin, len(p.prompt_ids) + sampling.max_new_tokens) for p in self.prompts))
        self.cut = renderer.truncated
        self.scorer, self.sampling = make_scorer(comparison.reward, comparison.rewards), sampling
        self.reference = FrozenReference(policy)
        self.found = self.measure(policy)

    def measure(self, policy: Policy) -> Sampled:
        """Held-out samples of the policy; their KL too, unless they are the likeliest answers."""
        temperature, policy.temperature = policy.temperature, self.sampling.temperature or 1.0
        try:
            return evaluate_sampled(
                policy,
                self.prompts,
                self.scorer,
                sampling=self.sampling,
                seed=SEED,
                reference=self.reference if self.sampling.temperature else None,
            )
        finally:
            policy.temperature = temperature


@dataclass(frozen=True, slots=True)
class MethodRun:
    """A run that is to be trained."""

    method: str
    seed: int
    recipe: Recipe
    directory: Path
    comparer: "Comparer"

    def steps(self) -> Iterator[StepReport]:
        """Train to the end, measuring on the way; a run that was begun goes on from its checkpoint.

        One that diverges ends early: its directory says so.
        """
        runner = Runner(self.recipe, self.directory, resume=(self.directory / CONFIG).is_file())
        start, every = self.comparer.start_of(runner), self.comparer.comparison.evaluate.every
        if runner.run.step == 0:
            text = "held-out measurements before training"
            runner.run.event(0, BEFORE, text, level="info", **start.found.metrics())
            self._keep_scores(runner, 0, start.found)
            if start.cut:
                runner.run.event(0, "truncated", f"{start.cut} held-out prompts were cut to the limit")
        steps = runner.steps()
        try:
            for report in steps:
                done = report.step + 1
                if report.last or (every and done % every == 0):
                    try:
                        found = start.measure(runner.policy)
                    except ModelError as error:
                        steps.throw(error)  # type: ignore[attr-defined]  # a generator: the run takes down how it ended
                        raise
                    runner.run.log(report.step, found.metrics())
                    if report.last:
                        self._keep_scores(runner, done, found)
                    report = replace(report, metrics={**report.metrics, **found.metrics()})
                yield report
        except (TrainingError, ModelError):
            if self.result().state != "diverged":
                raise

    def result(self) -> RunResult:
        """What the run came to, so far."""
        return run_result(self.directory, self.method, self.seed)

    def _keep_scores(self, runner: Runner, after: int, found: Sampled) -> None:
        judged = [[c.score for c in group.completions if c.score is not None] for group in found.groups]
        scores = [fmean(of) if of else None for of in judged]
        text = f"held-out scores by prompt after {after} steps"
        runner.run.event(max(0, after - 1), SCORES, text, level="info", after=after, scores=scores)


class Comparer:
    """A comparison in its directory. One that stopped is gone on with by the same call; nothing is trained twice."""

    def __init__(self, comparison: Comparison, directory: Path) -> None:
        self.comparison, self.directory = comparison, Path(directory)
        if join_world().size > 1:
            raise ConfigError("a comparison is trained by one process: call it without torchrun")
        make_scorer(comparison.reward, comparison.rewards)
        for name in comparison.methods:
            with _naming(name):
                check_recipe(comparison.recipe(name, comparison.seeds[0]))
        self._start: tuple[str, Start] | None = None
        self.directory.mkdir(parents=True, exist_ok=True)
        with lock.acquired(self.directory):
            _settle(self.directory, comparison.resolved())

    def left(self) -> Iterator[MethodRun]:
        """The runs that are left, seed by seed; train one (`steps`) before the next. The files follow each run."""
        try:
            for run in self._runs():
                if run.result().state == "unfinished":
                    yield run
                    self.write()
            self.write()
        finally:
            lock.release(self.directory)

    def results(self) -> list[RunResult]:
        """All runs, method by method."""
        found = {(run.method, run.seed): run.result() for run in self._runs()}
        return [found[name, seed] for name in self.comparison.methods for seed in self.comparison.seeds]

    def write(self) -> None:
        """Replace `compare.json`, `compare.md` and the charts by what there is."""
        write_comparison(self.directory, self.comparison.resolved(), self.results())

    def start_of(self, runner: Runner) -> Start:
        """The model that this run starts from; loaded and measured once, or once a seed where it is made for a run."""
        model, seed = runner.recipe.model, runner.recipe.train.seed
        path, key = (str(runner.directory / BASE), f"{TINY} {seed}") if model.path == TINY else (model.path, model.path)
        if self._start is None or self._start[0] != key:
            self._start = key, Start(path, self.comparison, dtype=model.dtype)
        return self._start[1]

    def _runs(self) -> Iterator[MethodRun]:
        for seed in self.comparison.seeds:
            for name in self.comparison.methods:
                directory = self.directory / f"{name}-seed{seed}"
                yield MethodRun(name, seed, self.comparison.recipe(name, seed), directory, self)


def _checked(values: Mapping[str, Any]) -> Recipe:
    if "stages" in values:
        raise ConfigError("it has stages, and a comparison is of single runs: compare recipes of one stage")
    recipe = recipe_of(values)
    if recipe.scores:
        raise ConfigError(
            f"objective.name = {recipe.objective['name']!r} trains a model that scores, not one that writes"
        )
    return recipe


def _check_one_model(methods: Mapping[str, Recipe]) -> None:
    name, first = next(iter(methods.items()))
    for other, recipe in methods.items():
        for key in ("path", "dtype"):
            one, two = getattr(first.model, key), getattr(recipe.model, key)
            if one != two:
                raise ConfigError(
                    f"model.{key} = {one!r} of {name} and {two!r} of {other}: methods are compared from one model; "
                    f"give --model.{key} for all"
                )


def _judge(values: Mapping[str, Any], first: str | None) -> tuple[EvaluateConfig, Sampling, RewardConfig]:
    """How held-out samples are drawn and judged; ConfigError for what is not said."""
    whose = f"of {first}, the first recipe that samples" if first else "of a recipe that samples, and there is none"
    if not values.get("evaluate"):
        raise ConfigError(
            f"`evaluate` {whose}, is missing: give --evaluate.data.path FILE or --evaluate.data.task NAME"
        )
    if not values.get("sampling"):
        raise ConfigError(f"`sampling` {whose}: give --sampling.max_new_tokens N")
    evaluate = config.build(EvaluateConfig, values["evaluate"], "evaluate")
    sampling = config.build(Sampling, values["sampling"], "sampling")
    reward = evaluate.reward or (
        config.build(RewardConfig, values["reward"], "reward") if values.get("reward") else None
    )
    if reward is None:
        raise ConfigError(f"`reward` {whose}: give --evaluate.reward.name NAME")
    if evaluate.data.max_response_tokens is not None:
        raise ConfigError(
            f"evaluate.data.max_response_tokens = {evaluate.data.max_response_tokens} has no effect on sampled "
            "responses: set sampling.max_new_tokens"
        )
    return evaluate, replace(sampling, k=evaluate.samples, temperature=evaluate.temperature), reward


def _settle(directory: Path, settings: Mapping[str, Any]) -> None:
    """Write down what is compared here; ConfigError if it was something else."""
    file = directory / SETTINGS
    if file.is_file():
        changed = list(_changes(read_settings(file), settings))
        if changed:
            raise ConfigError(
                f"{directory} holds a comparison with other settings ({'; '.join(changed[:4])}): call it as before, "
                "with methods or seeds added if you like, or choose another directory"
            )
    elif found := {item.name for item in directory.iterdir()} - {LOCK}:
        raise ConfigError(
            f"{directory} holds files that are not a comparison's ({min(found)}): choose another directory"
        )
    text = yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True, width=120)
    atomic.write_file(file, text)


def _changes(before: Mapping[str, Any], now: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """What is another setting now, by name; methods and seeds may be added."""
    for key in [*before, *(key for key in now if key not in before)]:
        name = f"{where}{key}"
        one, two = before.get(key), now.get(key)
        if name == "seeds":
            yield from (f"seed {seed} is left out" for seed in before["seeds"] if seed not in now["seeds"])
        elif where == "methods." and key not in now:
            yield f"{key} is left out"
        elif where == "methods." and key not in before:
            continue
        elif isinstance(one, Mapping) and isinstance(two, Mapping):
            yield from _changes(one, two, f"{name}.")
        elif one != two:
            yield f"{name} was {one!r}, is {two!r}"


@contextlib.contextmanager
def _naming(method: str) -> Iterator[None]:
    """Errors of what is done inside say which recipe they are about."""
    try:
        yield
    except (ConfigError, DataError, RewardError) as error:
        raise type(error)(f"{method}: {error}") from error
