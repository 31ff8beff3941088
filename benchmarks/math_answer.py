r"""How often `math_answer` and its peers refuse right answers and accept wrong ones, on the same answers.

    python benchmarks/math_answer.py [--gsm8k data/gsm8k-test] [--peers PYTHON] [--category NAME] [--hostile]

`groupwise get-data gsm8k-test data/gsm8k-test` fetches the problems. PYTHON is the Python of an environment of its own
with `trl==1.16.0`, `math-verify==0.9.0` and, by `--no-deps`, `verl==0.9.1`: what of these is there is measured.

1. GSM8K: the 1,319 solutions, as they are; "The answer is N."; and \boxed{N}: refused.
2. Wrong answers made from these: N + 1, N - 1, two digits swapped, -N, 10 N, N / 10: accepted.
3. The pairs of `tests/rewards/math_pairs.jsonl`: equal ones refused, unequal ones accepted. For math_dapo the answer
   stands behind "Answer:", for verl's gsm8k behind ####, as these want it; for all others in \boxed{}.
4. --hostile: the seconds that the dearest of six answers takes, each in a fresh process, ended after 30.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from groupwise.rewards.math_answer import MathAnswer

HERE = Path(__file__).parent
PAIRS = HERE.parent / "tests" / "rewards" / "math_pairs.jsonl"
OWN = "groupwise math_answer"
FORMS = {"verl math_dapo": "Answer: {}", "verl gsm8k": "#### {}"}  # the others: \boxed{}
HOSTILE = ("9^9^9^9", "10000!!!", "(1+x)^{5000}", "7" * 100_000, "{" * 14 + "x" + "}" * 14, "\\sum_{k=1}^{10^7} k^k")
LIMIT_S = 30

Case = tuple[str, str]  # the right answer, the text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsm8k", type=Path, default=Path("data/gsm8k-test"))
    parser.add_argument("--peers", help="the Python with the peers; without it only math_answer is measured")
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--category", help="of the pairs only these, such as `second round`")
    args = parser.parse_args()
    solutions = _solutions(args.gsm8k)
    golds = [solution.rpartition("####")[2].strip().replace(",", "") for solution in solutions]
    pairs = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    pairs = [pair for pair in pairs if args.category in (None, pair["category"])] or sys.exit("no such category")
    checkers = [OWN, *(_ask(args.peers, "names") if args.peers else [])]
    print(f"{len(golds)} solutions, {sum(len(_altered(gold)) for gold in golds)} wrong answers, {_counted(pairs)}\n")
    head = [
        "checker",
        "solutions refused",
        '"The answer is N." refused',
        "\\boxed{N} refused",
        "wrong answers accepted",
    ]
    head += ["equal pairs refused", "unequal pairs accepted", "ms an answer, median"] + ["dearest, s"] * args.hostile
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for checker in checkers:
        form = FORMS.get(checker, "\\boxed{{{}}}").format
        sets: list[tuple[list[Case], float]] = [  # the cases, and the verdict that counts
            (list(zip(golds, solutions, strict=True)), 0.0),
            ([(gold, f"The answer is {gold}.") for gold in golds], 0.0),
            ([(gold, f"\\boxed{{{gold}}}") for gold in golds], 0.0),
            ([(gold, form(wrong)) for gold in golds for wrong in _altered(gold)], 1.0),
            ([(pair["gold"], form(pair["answer"])) for pair in pairs if pair["equal"]], 0.0),
            ([(pair["gold"], form(pair["answer"])) for pair in pairs if not pair["equal"]], 1.0),
        ]
        cells, times = [], []
        for cases, counted in sets:
            scores, seconds = _judged(args.peers, checker, cases)
            found = sum(score == counted for score in scores)
            cells.append(f"{found} of {len(cases)} ({found / len(cases):.1%})")
            times += seconds
        cells.append(f"{1000 * statistics.median(times):.2f}")
        if args.hostile:
            cells.append(_dearest(args.peers, checker))
        print(f"| {checker} | {' | '.join(cells)} |", flush=True)


def _solutions(folder: Path) -> list[str]:
    files = [folder / "train.jsonl", folder / "heldout.jsonl"]
    if not files[0].exists():
        sys.exit(f"{folder} holds no train.jsonl: groupwise get-data gsm8k-test {folder}")
    return [json.loads(line)["answer"] for file in files for line in file.read_text("utf-8").splitlines()]


def _counted(pairs: Sequence[dict[str, object]]) -> str:
    equal = sum(bool(pair["equal"]) for pair in pairs)
    return f"{equal} equal and {len(pairs) - equal} unequal pairs"


def _altered(gold: str) -> list[str]:
    """Wrong answers near a right one."""
    value = Fraction(gold)
    wrong = [value + 1, value - 1, -value, value * 10, value / 10]
    texts = [f"{float(number):g}" if number.denominator > 1 else str(number.numerator) for number in wrong]
    digits = next((i for i in range(len(gold) - 1) if gold[i : i + 2].isdigit() and gold[i] != gold[i + 1]), None)
    if digits is not None:
        texts.append(gold[:digits] + gold[digits + 1] + gold[digits] + gold[digits + 2 :])
    return [text for text in texts if Fraction(text) != value]


def _judged(peers: str | None, checker: str, cases: Sequence[Case]) -> tuple[list[float], list[float]]:
    if checker != OWN:
        scores, seconds = _ask(peers, checker, cases)
        return scores, seconds
    reward, scores, seconds = MathAnswer(), [], []
    for gold, text in cases:
        began = time.perf_counter()
        scores.append(reward.judge({"answer": gold}, text) or 0.0)
        seconds.append(time.perf_counter() - began)
    return scores, seconds


def _ask(peers: str | None, checker: str, cases: Sequence[Case] = (), limit_s: float | None = None):
    command = [str(peers), str(HERE / "math_answer_peers.py"), checker]
    done = subprocess.run(
        command, input=json.dumps(list(cases)), capture_output=True, text=True, timeout=limit_s, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.rpartition("RESULT")[2])


def _dearest(peers: str | None, checker: str) -> str:
    """The seconds of the dearest hostile answer; a peer that takes over 30 is ended."""
    dearest = 0.0
    for answer in HOSTILE:
        case = ("5", FORMS.get(checker, "\\boxed{{{}}}").format(answer))
        try:
            _, (seconds,) = (
                _judged(None, checker, [case])
                if checker == OWN
                else _ask(peers, checker, [case], limit_s=LIMIT_S + 20)  # what the imports take
            )
        except subprocess.TimeoutExpired:
            seconds = float(LIMIT_S)
        dearest = max(dearest, seconds)
    return f"over {LIMIT_S}" if dearest >= LIMIT_S else f"{dearest:.3f}"


if __name__ == "__main__":
    main()
