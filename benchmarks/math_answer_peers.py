"""The peers' side of math_answer.py: run by a Python that has them, and free of Groupwise.

    PYTHON benchmarks/math_answer_peers.py names | CHECKER   # [[right answer, text], ...] as JSON on standard input

Prints RESULT and JSON: the checkers that are installed; or the scores (1 right, 0 wrong or not judged), and seconds.
verl's files are loaded one by one: its package would import Ray.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path


def _verl(name):
    found = importlib.util.find_spec("verl")
    file = Path(found.origin).parent / "utils" / "reward_score" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"verl_{name}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _trl():
    from trl.rewards import accuracy_reward

    return lambda gold, text: (
        accuracy_reward([[{"role": "assistant", "content": text}]], [f"\\boxed{{{gold}}}"])[0] or 0
    )


def _math_verify():
    check = _verl("math_verify")._verify_in_subprocess  # what its pool of processes runs
    return lambda gold, text: check(f"\\boxed{{{gold}}}", text)


def _own(module):
    def check(gold, text):
        score = module.compute_score(text, gold)
        return score["acc"] if isinstance(score, dict) else score

    return check


CHECKERS = {
    "TRL accuracy_reward": ("trl", _trl),
    "verl math_verify": ("verl", _math_verify),
    "verl math_reward": ("verl", lambda: _own(_verl("math_reward"))),
    "verl math_dapo": ("verl", lambda: _own(_verl("math_dapo"))),
    "verl gsm8k": ("verl", lambda: _own(_verl("gsm8k"))),
}


def main():
    asked = sys.argv[1]
    if asked == "names":
        return [name for name, (package, _) in CHECKERS.items() if importlib.util.find_spec(package)]
    check = CHECKERS[asked][1]()
    check("1", "\\boxed{2}")  # what is imported late
    scores, seconds = [], []
    for gold, text in json.load(sys.stdin):
        began = time.perf_counter()
        try:
            scores.append(float(check(gold, text)))
        except Exception:
            scores.append(0.0)
        seconds.append(time.perf_counter() - began)
    return scores, seconds


if __name__ == "__main__":
    print("RESULT", json.dumps(main()))
