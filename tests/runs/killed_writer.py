"""Writes a run as fast as it can until it is killed: `python killed_writer.py DIRECTORY`."""

import sys
from pathlib import Path

from groupwise.runs.schema import CompletionRecord, GroupRecord
from groupwise.runs.write import Run


def write_state(directory, step):
    for name in ("weights", "optimizer", "state"):
        (directory / name).write_text(f"{step} " * 5000)


def take_step(run, step):
    candidate = CompletionRecord(token_ids=list(range(2000)), text=f"answer {step}" * 200, score=None, weights=[step])
    group = GroupRecord(step=step, origin="x:1", prompt=f"prompt {step}", prompt_ids=[1], completions=[candidate])
    run.log_groups(step, [group, group])
    if step % 2:
        run.event(step, "odd", f"step {step} is odd", number=step)
    run.log(step, {"loss/total": 1 / (step + 1)})
    if (step + 1) % 3 == 0:
        run.save_checkpoint(step + 1, lambda directory: write_state(directory, step + 1))


if __name__ == "__main__":
    path = Path(sys.argv[1])
    run = Run.resume(path) if path.exists() else Run.create(path, config={"seed": 1})
    print("started", flush=True)
    for step in range(run.step, 10**9):
        take_step(run, step)
