"""TRL's side of `against_trl.py`, for an environment of its own: one line of JSON, as `step_groupwise.py`'s."""

import json
import os
import resource
import sys
import time
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer


class Clock(TrainerCallback):
    """Seconds of each step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.began = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.seconds.append(time.perf_counter() - self.began)


def main() -> None:
    task = json.loads(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as lines:
        data = Dataset.from_list([json.loads(line) for line in lines])
    model = AutoModelForCausalLM.from_pretrained(task["model"], dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(task["model"])
    trainer = make(task, model, tokenizer, data)
    clock = Clock()
    trainer.add_callback(clock)
    trainer.train()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"steps": clock.seconds, "peak_gib": peak}))


def make(task: dict[str, Any], model: Any, tokenizer: Any, data: Dataset) -> Any:
    """TRL's trainer for the row; what is not set here is as TRL has it."""
    common = {
        "output_dir": "out",
        "max_steps": task["steps"],
        "learning_rate": 1e-6,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "disable_tqdm": True,
    }
    rest = {"model": model, "train_dataset": data, "processing_class": tokenizer}
    if task["kind"] == "grpo":
        k, new = task["k"], task["response"]
        own = {"num_generations": k, "max_completion_length": new, "generation_kwargs": {"min_new_tokens": new}}
        config = GRPOConfig(per_device_train_batch_size=task["rows"] * k, beta=0.0, temperature=1.0, **own, **common)
        return GRPOTrainer(reward_funcs=characters, args=config, **rest)
    if task["kind"] == "dpo":
        room = task["prompt"] + task["response"] + 64
        own = {"max_length": room, "precompute_ref_log_probs": True}
        return DPOTrainer(args=DPOConfig(per_device_train_batch_size=task["rows"], **own, **common), **rest)
    # With packing a row holds several texts: as many tokens a step as Groupwise's, on average.
    mean = (task["shortest"] + task["longest"]) / 2
    packed = max(1, round(task["rows"] * mean / 2048))
    own = {"packing": True, "max_length": 2048, "per_device_train_batch_size": packed}
    return SFTTrainer(args=SFTConfig(**own, **common), **rest)


def characters(completions: list[str], **_: Any) -> list[float]:
    """A trivial reward: only the trainer is timed."""
    return [float(len(set(text)) % 7) for text in completions]


if __name__ == "__main__":
    main()
