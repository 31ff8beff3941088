"""Stages trained one after the other: each what an earlier one left, in one directory that can be gone on with."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from groupwise.errors import TrainingError
from groupwise.inputs import check_recipe
from groupwise.recipe import Recipe
from groupwise.runner import Runner
from groupwise.runs import lock
from groupwise.runs.pipeline import create_pipeline, is_finished, keep_model, write_summary
from groupwise.runs.schema import CONFIG
from groupwise.stages import Pipeline, naming
from groupwise.train.distributed import join_world


@dataclass(frozen=True, slots=True)
class StageRun:
    """A stage that is to be trained."""

    name: str
    recipe: Recipe
    directory: Path

    def runner(self) -> Runner:
        """Its models and data, loaded when they are asked for; a stage that was begun goes on from its checkpoint."""
        return Runner(self.recipe, self.directory, resume=(self.directory / CONFIG).is_file())


class PipelineRunner:
    """A pipeline in its directory. Nothing is trained before all stages' settings, rewards and data are known good."""

    def __init__(self, pipeline: Pipeline, directory: Path, *, resume: bool = False, overwrite: bool = False) -> None:
        self.pipeline, self.directory = pipeline, Path(directory)
        self.world = join_world()
        for stage in pipeline.stages:
            with naming(stage.name):
                check_recipe(stage.recipe)
        if self.world.leads:
            self.directory.mkdir(parents=True, exist_ok=True)
            with lock.acquired(self.directory):
                if not resume:
                    create_pipeline(self.directory, pipeline.resolved(), overwrite=overwrite)
        self.world.barrier()

    def stages(self) -> Iterator[StageRun]:
        """The stages that are left; train one to its end (`for report in stage.runner().steps()`) before the next."""
        try:
            for stage in self.pipeline.stages:
                directory = self.directory / stage.name
                if not is_finished(directory):
                    yield StageRun(stage.name, stage.placed(self.directory), directory)
                    self.world.barrier()
                    if not is_finished(directory):
                        raise TrainingError(f"stage {stage.name} was not trained to its end: run all of its steps")
                self._summarize()
            if self.world.leads:
                keep_model(self.directory, self.pipeline.last.name)
            self._summarize(self.pipeline.last.name)
        finally:
            lock.release(self.directory)

    def _summarize(self, model: str | None = None) -> None:
        if self.world.leads:
            write_summary(self.directory, [stage.name for stage in self.pipeline.stages], model=model)
        self.world.barrier()
