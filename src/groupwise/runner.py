"""A recipe put together and run: policy, reference, data, source, evaluation, and the run directory they write."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from groupwise.candidates import Group, Need, Objective
from groupwise.data.annotators import Aggregated
from groupwise.data.prompts import PromptRow
from groupwise.data.render import Renderer
from groupwise.engines.local import LocalEngine
from groupwise.errors import ConfigError, RewardError
from groupwise.evaluate.held_out import evaluate_held_out
from groupwise.evaluate.sampled import Sampled, evaluate_sampled
from groupwise.inputs import check_room, load_groups, load_prompts, load_records, make_renderer, make_scorer
from groupwise.models.policy import Policy
from groupwise.models.reference import AdapterOff, FrozenReference, Reference
from groupwise.models.reference_cache import CachedReference, fingerprint
from groupwise.models.scalar import ScalarModel
from groupwise.models.tiny import make_tiny
from groupwise.recipe import DataConfig, Recipe, resolved
from groupwise.rewards.working import ROWS, check_reward
from groupwise.runs.schema import BASE
from groupwise.runs.write import Run
from groupwise.sources.offline import OfflineSource
from groupwise.sources.online import OnlineSource
from groupwise.train.distributed import join_world, shard
from groupwise.train.loop import train
from groupwise.train.optim import Optimizer
from groupwise.train.profile import traced, write_profile
from groupwise.train.report import StepReport

TINY = "tiny"  # the model path that means: make one on the spot


class Runner:
    """Everything a recipe names, loaded and checked: nothing is trained before all of it is known to be right."""

    def __init__(self, recipe: Recipe, directory: Path, *, resume: bool = False, overwrite: bool = False) -> None:
        self.recipe, self.directory = recipe, Path(directory)
        self.world = join_world()
        torch.manual_seed(recipe.train.seed)
        self.objective: Objective = recipe.build_objective()
        self.judge = make_scorer(recipe.reward, recipe.rewards) if recipe.reward else None
        other = recipe.evaluate.reward if recipe.evaluate else None
        self.heldout_judge = make_scorer(other, recipe.rewards) if other else self.judge
        self.run = self._open(resume, overwrite)
        try:
            self._load()
        except BaseException as error:
            self.run.__exit__(type(error), error, error.__traceback__)
            raise

    def _open(self, resume: bool, overwrite: bool) -> Run:
        if not self.world.leads:
            self.world.barrier()
            return Run.join(self.directory)
        devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        if resume:
            run = Run.resume(self.directory, devices=devices)
        else:
            run = Run.create(self.directory, config=resolved(self.recipe), overwrite=overwrite, devices=devices)
        self.world.barrier()
        return run

    def _load(self) -> None:
        recipe = self.recipe
        self.policy: Any = self._model()
        self.reference = self._cached(self._reference()) if Need.REF in self.objective.needs else None
        renderer = make_renderer(self.policy, recipe.data)
        self.source = self._source(renderer)
        self.heldout = self._heldout()
        self._note(renderer)
        self._check_reward()
        if self.world.size > 1:
            for model in (self.policy, getattr(self.policy, "critic", None)):
                if model is not None:
                    shard(model)
        self.optimizer = Optimizer(self.policy.parameters(), recipe.optimizer)

    def steps(self, *, trace: bool = False) -> Iterator[StepReport]:
        """Train to the end, one report a step, measuring on held-out data on the way; then write the model.

        `trace` records the second of these steps call by call.
        """
        recipe, every = self.recipe, self.recipe.evaluate.every if self.recipe.evaluate else None
        with self.run:
            if self.run.step == 0:
                self.evaluate(-1)
            reports = train(
                self.policy,
                self.objective,
                source=self.source,
                optimizer=self.optimizer,
                run=self.run,
                config=recipe.train,
                reference=self.reference,
            )
            if trace and self.world.leads:
                reports = traced(reports, self.directory)
            for report in reports:
                done = report.step + 1
                if report.last or (every and done % every == 0):
                    report = replace(report, metrics={**report.metrics, **self.evaluate(report.step)})
                yield report
            self.save_model()
            if self.world.leads:
                write_profile(self.directory, self.policy.device, self.policy.autocast or self.policy.model.dtype)
                self.run.finish()

    def evaluate(self, step: int) -> dict[str, float]:
        """Measure on held-out data and log it with `step`; -1 is before training."""
        if self.heldout is None:
            return {}
        found = self._measure()
        if self.world.leads:
            if step < 0:
                self.run.event(0, "before_training", "held-out measurements before training", level="info", **found)
            else:
                self.run.log(step, found)
        return found

    def _measure(self) -> dict[str, float]:
        evaluation, sampling = self.recipe.evaluate, self.recipe.sampling
        policy = self._whole_policy()
        assert evaluation is not None
        assert self.heldout is not None
        if sampling is None:
            groups: Any = self.heldout
            return evaluate_held_out(policy, self.objective, groups, reference=self.reference)
        assert self.heldout_judge is not None
        prompts: Any = self.heldout
        sampling = replace(sampling, k=evaluation.samples, temperature=evaluation.temperature)
        found: Sampled = evaluate_sampled(
            policy, prompts, self.heldout_judge, sampling=sampling, reference=self.reference
        )
        return found.metrics()

    def save_model(self) -> None:
        """The trained model as an ordinary Hugging Face folder: `DIRECTORY/model`."""
        whole = self._whole_policy()
        if self.world.leads:
            self.run.save_model(whole.save)
        self.world.barrier()

    def _model(self) -> Policy | ScalarModel:
        """What is trained: a policy with the critic that its objective may need, or a model that learns to score."""
        model, needs = self.recipe.model, self.objective.needs
        form: Any = {"dtype": model.dtype, "lora": model.lora, "gradient_checkpointing": model.gradient_checkpointing}
        path = self._path(model.path)
        if self.recipe.scores:
            return ScalarModel.load(path, new_head=True, **form)
        policy = Policy.load(path, **form)
        policy.temperature = self.recipe.sampling.temperature if self.recipe.sampling else 1.0
        if Need.VALUE in needs and model.critic is not None:
            policy.critic = ScalarModel.load(self._path(model.critic), place="before", dtype=model.dtype, new_head=True)
        elif Need.VALUE in needs:
            policy.add_value_head()
        return policy

    def _path(self, path: str) -> str:
        """Where a model lies; `tiny` is made on the spot."""
        if path == TINY:
            path = str(self.directory / BASE)
            if self.world.leads and not Path(path).is_dir():
                self.run.save_base(partial(make_tiny, seed=self.recipe.train.seed))
            self.world.barrier()
        return path

    def _reference(self) -> Reference:
        model = self.recipe.model
        if model.reference is None and self.policy.adapted:
            return AdapterOff(self.policy)
        path = model.reference or model.path
        path = str(self.directory / BASE) if path == TINY else path
        frozen = FrozenReference(Policy.load(path, dtype=model.dtype), model.reference_update)
        if frozen.policy.tokenizer.get_vocab() != self.policy.tokenizer.get_vocab():
            raise ConfigError(f"model.reference = {path!r} has another vocabulary than model.path = {model.path!r}")
        frozen.policy.temperature = self.policy.temperature
        return frozen

    def _cached(self, reference: Reference) -> Reference:
        """Asked once for each given response, if it stands still; sampled ones do not come again."""
        model = self.recipe.model
        if self.recipe.online or model.reference_update is not None:
            return reference
        of = reference.policy if isinstance(reference, (FrozenReference, AdapterOff)) else self.policy
        name = fingerprint(of.model, model.dtype, of.temperature)
        folder = Path(model.reference_cache) if model.reference_cache else self.directory / "reference_cache"
        return CachedReference(reference, folder / f"{name}.bin", writes=self.world.leads)

    def _source(self, renderer: Renderer) -> OfflineSource | OnlineSource:
        recipe = self.recipe
        if recipe.sampling is None:
            groups = self._groups(recipe.data, renderer, recipe.train.seed)
            return OfflineSource(groups, groups_per_step=recipe.train.groups_per_step, seed=recipe.train.seed)
        assert self.judge is not None
        return OnlineSource(
            self._prompts(recipe.data, renderer, recipe.train.seed),
            LocalEngine(self.policy if self.world.size == 1 else self._fresh_policy()),
            self.judge,
            sampling=recipe.sampling,
            groups_per_step=recipe.train.groups_per_step,
            seed=recipe.train.seed,
            peers=self.world if self.world.size > 1 else None,
        )

    def _heldout(self) -> Sequence[Group] | Sequence[PromptRow] | None:
        evaluation = self.recipe.evaluate
        if evaluation is None:
            return None
        renderer = make_renderer(self.policy, evaluation.data)
        rows: Sequence[Group] | Sequence[PromptRow]
        if self.recipe.sampling is None:
            rows = self._groups(evaluation.data, renderer, self.recipe.train.seed + 1)
        else:
            rows = self._prompts(evaluation.data, renderer, self.recipe.train.seed + 1)
        self._note_rendered("evaluate.data", renderer)
        return rows

    def _groups(self, data: DataConfig, renderer: Renderer, seed: int) -> list[Group]:
        records = load_records(data, self.objective, seed=seed, note=self._note_joined)
        groups = load_groups(records, renderer, self.objective)
        check_room(
            self.policy, ((g.origin, len(g.prompt_ids) + len(c.token_ids)) for g in groups for c in g.completions)
        )
        return groups

    def _prompts(self, data: DataConfig, renderer: Renderer, seed: int) -> list[PromptRow]:
        prompts, sampling = load_prompts(data, renderer, seed), self.recipe.sampling
        assert sampling is not None
        check_room(self.policy, ((p.origin, len(p.prompt_ids) + sampling.max_new_tokens) for p in prompts))
        return prompts

    def _fresh_policy(self) -> Policy:
        policy = self._model()
        assert isinstance(policy, Policy)
        return policy

    def _whole_policy(self) -> Any:
        """The policy, or an unsharded copy of it where it is sharded."""
        if self.world.size == 1:
            return self.policy
        copy = self._model()
        copy.set_trained_state(self.policy.trained_state())
        return copy

    def _note(self, renderer: Renderer) -> None:
        if not self.world.leads or self.run.step:
            return
        for note in self.policy.notes:
            self.run.event(self.run.step, "model", note, level="info")
        rows = len(self.source.groups if isinstance(self.source, OfflineSource) else self.source.prompts)
        if rows < self.recipe.train.groups_per_step:
            said = f"a step takes {self.recipe.train.groups_per_step} groups and `data` has {rows} rows"
            self.run.event(0, "repeats", f"{said}: they repeat within a step; give more rows or fewer groups_per_step")
        warmup, steps = self.recipe.optimizer.warmup_steps, self.recipe.train.steps
        if warmup > steps:
            said = f"optimizer.warmup_steps = {warmup} is more than train.steps = {steps}"
            self.run.event(0, "warmup", f"{said}: the learning rate does not reach optimizer.learning_rate")
        self._note_rendered("data", renderer)

    def _check_reward(self) -> None:
        """The rows' right answers must score high, and those of other rows low, before anything learns from it."""
        reward, config = self.recipe.reward, self.recipe.rewards
        if reward is None or config.check == "off" or self.run.step or not self.world.leads:
            return
        assert isinstance(self.source, OnlineSource)
        rows = [prompt.row for prompt in self.source.prompts[:ROWS]]
        found = check_reward(reward.name, reward.settings, rows, config=config, column=reward.gold)
        if found is None:
            return
        self.run.event(0, "reward", f"reward `{reward.name}`: {found}", level="info" if found.works else "warning")
        if not found.works and config.check == "stop":
            example = next((e for e in [*found.misses, *found.fools]), None)
            shown = f"\n  row: {dict(example.row)!r:.400}\n  text: {example.text!r:.400}" if example else ""
            raise RewardError(
                f"reward `{reward.name}` does not tell right answers from wrong ones: {found}{shown}\n"
                "Mend the reward or the rows' answers, or set rewards.check: warn to train all the same."
            )

    def _note_joined(self, joined: Aggregated) -> None:
        if self.world.leads and not self.run.step:
            self.run.event(0, "annotators", str(joined), level="warning" if joined.ties else "info")

    def _note_rendered(self, section: str, renderer: Renderer) -> None:
        if not self.world.leads or self.run.step:
            return
        if renderer.truncated:
            said = f"{renderer.truncated} prompts or responses were cut to the limits in `{section}`"
            self.run.event(0, "truncated", said)
        if renderer.unknown:
            said = f"{renderer.unknown} prompts or responses of `{section}` have characters unknown to the tokenizer"
            self.run.event(0, "unknown_tokens", f"{said}: they are read and learned as its token for all such")
