"""Every file and field of a run directory: the contract between what trains and what shows.

The text beside a field is its documentation; `reference.py` makes the tables of docs/concepts/run_directory.md of it.
Times are seconds since 1970-01-01 UTC. JSON is strict: a number that is not finite is written as null.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

FORMAT = 1

CONFIG = "config.yaml"
ENVIRONMENT = "env.json"
STATUS = "status.json"
METRICS = "metrics.jsonl"
GROUPS = "groups.jsonl"
EVENTS = "events.jsonl"
CHECKPOINTS = "checkpoints"
MODEL = "model"
BASE = "base"
PROFILE = "profile.json"
TRACE = "trace.json.gz"
LOCK = ".lock"
PIPELINE = "pipeline.yaml"
SUMMARY = "summary.json"

State = Literal["running", "finished", "failed", "interrupted"]
Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessRecord:
    """A process that trained this run."""

    time: Annotated[float, "when it started"]
    step: Annotated[int, "the step it began with"]
    command: Annotated[Sequence[str], "its command line"]
    directory: Annotated[str, "its working directory"]
    host: Annotated[str, "name of the machine"]
    pid: Annotated[int, "its process id there"]
    platform: Annotated[str, "operating system and architecture"]
    cpus: Annotated[int, "processor cores that it may use"]
    devices: Annotated[Sequence[str], "accelerators, by name"] = ()
    python: Annotated[str, "version of Python"]
    packages: Annotated[Mapping[str, str], "versions of the packages that results depend on"]
    git_commit: Annotated[str | None, "commit checked out in the working directory; null outside a repository"]
    git_changed: Annotated[bool | None, "whether tracked files differed from that commit"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """`env.json`: what the run was started with, and each time it was resumed."""

    format: Annotated[int, "version of this contract"]
    seed: Annotated[int | None, "the configuration's `train.seed`"]
    processes: Annotated[Sequence[ProcessRecord], "the first start, then one for each resumption"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorRecord:
    """What ended a failed run."""

    type: Annotated[str, "class of the exception"]
    message: Annotated[str, "its text"]
    traceback: Annotated[str, "where it was raised"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """`status.json`: where the run stands, replaced as a whole after every step."""

    state: Annotated[State, "`running` is also what a killed process leaves behind: see below"]
    step: Annotated[int, "steps done"]
    steps: Annotated[
        int | None,
        "steps asked for: the configuration's `train.steps`, or what its `train.tokens` lets expect; null if unknown",
    ] = None
    time: Annotated[float, "when this was written"]
    host: Annotated[str, "machine of the process that wrote it"]
    pid: Annotated[int, "id of that process"]
    checkpoint: Annotated[str | None, "newest whole checkpoint, relative to the run directory"] = None
    error: Annotated[ErrorRecord | None, "why the run failed"] = None
    summary: Annotated[Mapping[str, Any], "results reported when it finished"] = field(default_factory=dict)


MetricsRecord = TypedDict(
    "MetricsRecord",
    {
        "step": Annotated[int, "the step that was measured, from 0"],
        "time": Annotated[float, "when it was written"],
        "<group>/<name>": Annotated[float | None, "a measurement, such as `loss/total`; null if it was not finite"],
    },
)
MetricsRecord.__doc__ = (
    "`metrics.jsonl`: measurements of a step. Several objects with the same `step` add up to one; a later value wins."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletionRecord:
    """A candidate of a group, in `completions`."""

    token_ids: Annotated[Sequence[int], "tokens exactly as sampled or given, the end token included if there is one"]
    text: Annotated[str, "the same as text"]
    score: Annotated[float | None, "what the reward or the data says it is worth; null: could not be judged"]
    score_parts: Annotated[Mapping[str, float], "named parts of the score"] = field(default_factory=dict)
    weights: Annotated[
        Sequence[float], "how hard it was pushed up (below 0: down): one number for each token, or one for all"
    ] = ()
    finish_reason: Annotated[
        str, "why it ended: `stop` (end token), `stop_string`, `length` (cut off), `given` (from data)"
    ] = "given"
    logprobs: Annotated[
        Sequence[float] | None, "log-probability of each token in the distribution sampled from; null for given text"
    ] = None

    def __post_init__(self) -> None:
        tokens = len(self.token_ids)
        if len(self.weights) not in (0, 1, tokens):
            raise ValueError(
                f"CompletionRecord.weights has {len(self.weights)} entries, must be 1 or {tokens} (tokens)"
            )
        if self.logprobs is not None and len(self.logprobs) != tokens:
            raise ValueError(f"CompletionRecord.logprobs has {len(self.logprobs)} entries for {tokens} token_ids")


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupRecord:
    """`groups.jsonl`: a prompt with its candidates at a step, in the order of the step."""

    step: Annotated[int, "the step that learned from it; always the line's first key"]
    origin: Annotated[str, "where the prompt came from, such as `file.jsonl:17`"]
    prompt: Annotated[str | Sequence[Mapping[str, Any]], "text, or chat messages"]
    prompt_ids: Annotated[Sequence[int], "its tokens, chat template included"]
    completions: Annotated[Sequence[CompletionRecord], "the candidates"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """`events.jsonl`: something a user should know, with its cause."""

    step: Annotated[int, "the step during which it happened"]
    time: Annotated[float, "when it was written"]
    level: Annotated[Level, "how much it matters"]
    kind: Annotated[str, "a stable name to filter and count by"]
    message: Annotated[str, "what happened, why, and what to do"]
    details: Annotated[Mapping[str, Any], "the values behind the message"] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseRecord:
    """What a phase took, in `phases`: each second counts for the innermost phase."""

    seconds: Annotated[float, "spent in it over all steps"]
    tokens: Annotated[int, "tokens it computed; 0 where it computes none"]
    operations: Annotated[float, "floating-point operations that these tokens cannot do without"]
    of_matmul: Annotated[float, "operations a second, as a share of `matmul_rate`"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileRecord:
    """`profile.json`: where the time of all steps went. Held-out measurements and checkpoints are not counted."""

    steps: Annotated[int, "steps that are summed up"]
    device: Annotated[str, "where the model ran"]
    dtype: Annotated[str, "what it computed in"]
    matmul_rate: Annotated[float, "floating-point operations a second of a large product of matrices, measured here"]
    phases: Annotated[
        Mapping[str, PhaseRecord],
        "`prefill` (prompts), `decode` (sampling), `score` (waiting for rewards), `old` and `reference` (passes before "
        "training), `forward`, `backward`, `optimizer`, `other`",
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class StageSummary:
    """A finished stage of a pipeline, in `stages`."""

    name: Annotated[str, "the stage's name, and its run directory's"]
    objective: Annotated[str, "what it was trained with"]
    steps: Annotated[int, "steps done"]
    seconds: Annotated[float, "spent in these steps; loading and held-out measurements are not counted"]
    tokens: Annotated[int, "tokens computed in them"]
    metrics: Annotated[Mapping[str, float | None], "measurements of the last step"]
    heldout_before: Annotated[Mapping[str, float | None], "held-out measurements before it; empty without `evaluate`"]
    heldout_after: Annotated[Mapping[str, float | None], "and after it"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelineSummary:
    """`summary.json` of a pipeline: what its stages came to, replaced as a whole after each of them."""

    format: Annotated[int, "version of this contract"]
    stages: Annotated[Sequence[StageSummary], "the finished stages, in order"]
    model: Annotated[str | None, "the stage whose model `model/` is; null while stages are left"]


FILES: Mapping[str, str] = {
    CONFIG: "the resolved configuration: every setting of the run, defaults included",
    ENVIRONMENT: "what ran it: command, versions, machine, commit, seed",
    STATUS: "where it stands",
    METRICS: "one line for the measurements of a step",
    GROUPS: "one line for each group of a step",
    EVENTS: "one line for each warning or other event",
    f"{CHECKPOINTS}/step_00000100/": "what training goes on from after 100 steps; a directory of this name is whole",
    f"{MODEL}/": "the trained model, an ordinary Hugging Face folder; written at the end",
    f"{BASE}/": "with `model.path: tiny`, the model that was made and that training started from",
    PROFILE: "where the time went",
    TRACE: "with `--profile`, the second step call by call, for Perfetto",
    LOCK: "held by the process that writes the run, as a POSIX record lock",
}
"""Path in the run directory to what it is."""

PIPELINE_FILES: Mapping[str, str] = {
    PIPELINE: "the resolved configuration: the stages in order, every setting of each",
    "NAME/": "the run directory of the stage of this name, as above",
    SUMMARY: "what the finished stages came to",
    f"{MODEL}/": "the model of the last stage that trained a policy; written at the end",
    LOCK: "held by the process that trains the pipeline",
}
"""Path in a pipeline's directory to what it is."""

RECORDS: tuple[type, ...] = (
    Environment, ProcessRecord, Status, ErrorRecord, MetricsRecord, GroupRecord, CompletionRecord, Event,
    ProfileRecord, PhaseRecord, PipelineSummary, StageSummary,
)  # fmt: skip
"""All records, in the order of the documentation."""
