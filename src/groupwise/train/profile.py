"""Where a run's time went: `profile.json` in its directory, and on request a trace of one step."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

import torch

from groupwise.runs import atomic
from groupwise.runs.read import read_run
from groupwise.runs.schema import PROFILE, TRACE, PhaseRecord, ProfileRecord
from groupwise.train.report import StepReport

TRACED = 1  # the step that `traced` records: the first one also warms up


def write_profile(directory: Path, device: torch.device, dtype: torch.dtype) -> ProfileRecord:
    """`profile.json`: seconds, tokens and operations of each phase over all steps, and the machine's rate."""
    rate = matmul_rate(device, dtype)
    sums: dict[str, dict[str, float]] = {"seconds": {}, "tokens": {}, "operations": {}}
    steps = read_run(directory).metrics()
    for step in steps:
        for name, value in step.items():
            group, _, phase = name.partition("/")
            if group in sums:
                sums[group][phase] = sums[group].get(phase, 0.0) + (value or 0.0)
    phases = {
        name: PhaseRecord(
            seconds=seconds,
            tokens=int(sums["tokens"].get(name, 0)),
            operations=sums["operations"].get(name, 0.0),
            of_matmul=sums["operations"].get(name, 0.0) / max(seconds * rate, 1e-9),
        )
        for name, seconds in sums["seconds"].items()
    }
    record = ProfileRecord(
        steps=len(steps), device=str(device), dtype=str(dtype).removeprefix("torch."), matmul_rate=rate, phases=phases
    )
    atomic.write_file(directory / PROFILE, atomic.strict_json(asdict(record), indent=2))
    return record


@cache
def matmul_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Floating-point operations a second of a large product of matrices here, the best of five."""
    size = 8192 if device.type == "cuda" else 1536
    a, b = (torch.ones(size, size, device=device, dtype=dtype) for _ in range(2))
    best = float("inf")
    for _ in range(6):
        began = time.perf_counter()
        a @ b
        if device.type == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    return 2.0 * size**3 / best


def traced(reports: Iterator[StepReport], directory: Path) -> Iterator[StepReport]:
    """The same reports; the second step is recorded in `trace.json.gz`, to be opened in Perfetto or chrome://tracing."""
    for _ in range(TRACED):
        if (report := next(reports, None)) is None:
            return
        yield report
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        recorded = next(reports, None)
    if recorded is not None:
        profile.export_chrome_trace(str(directory / TRACE))
        yield recorded
    yield from reports
