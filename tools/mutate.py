"""Are the tests able to fail? Each one-line fault of tools/mutations.py must be caught by the test named beside it.

    python tools/mutate.py [WORD ...]          only the mutations of files whose path holds one of the words

A process that has imported torch and pytest once is forked for each mutation; in the child the file reads as
mutated, on the disk nothing changes. Ends with 1 if a mutation survives, or if its test fails without it.
"""

import gc
import importlib.machinery
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they want to be imported by pytest, not before it

import beartype  # noqa: F401  # imported once, for all children
import hypothesis
import pytest
import torch  # noqa: F401  # likewise
from mutations import MUTATIONS, Mutation

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "groupwise"
ALONE = ("-o", "addopts=--strict-markers --import-mode=importlib")  # in this process, without plugins
FAILED, PASSED = pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.OK


def read_as(target: Path, source: bytes) -> None:
    """From now on imports in this process find `source` in the file `target`, and no bytecode of it."""
    read = importlib.machinery.SourceFileLoader.get_data

    def get_data(self: importlib.machinery.SourceFileLoader, path: str) -> bytes:
        asked = Path(path)
        if asked == target:
            return source
        if asked.parent == target.parent / "__pycache__" and asked.name.startswith(f"{target.stem}."):
            raise FileNotFoundError(path)
        return read(self, path)

    importlib.machinery.SourceFileLoader.get_data = get_data
    sys.dont_write_bytecode = True


def mutated(mutation: Mutation) -> bytes:
    """The file's text with the fault in it; it must hold `old` exactly once."""
    source = (PACKAGE / mutation.file).read_text()
    found = source.count(mutation.old)
    if found != 1:
        raise SystemExit(f"{mutation.file} holds {mutation.old!r} {found} times, must hold it once")
    return source.replace(mutation.old, mutation.new).encode()


def start(tests: Sequence[str], mutation: Mutation | None = None) -> int:
    """The id of a child that runs these tests, quietly, and ends with pytest's exit code."""
    source = mutated(mutation) if mutation else b""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code: int = pytest.ExitCode.INTERNAL_ERROR
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        if mutation:
            read_as(PACKAGE / mutation.file, source)
        code = pytest.main([*ALONE, "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *tests])
    finally:
        os._exit(code)


def survivors(chosen: Sequence[Mutation], processes: int) -> list[str]:
    """What went wrong: mutations that their test lets pass, and those that keep it from being run."""
    running: dict[int, Mutation] = {}
    waiting, wrong = list(chosen), []
    while waiting or running:
        while waiting and len(running) < processes:
            mutation = waiting.pop(0)
            running[start([f"tests/{mutation.test}"], mutation)] = mutation
        child, status = os.wait()
        mutation, code = running.pop(child), os.waitstatus_to_exitcode(status)
        if code != FAILED:
            how = "SURVIVED" if code == PASSED else f"BROKEN (pytest ended with {code})"
            wrong.append(f"{how}  {mutation.file}  {mutation.old!r} -> {mutation.new!r}  {mutation.test}")
            print(wrong[-1], flush=True)
    return wrong


def main(words: Sequence[str]) -> int:
    """Try the mutations of the files that the words choose, as many at once as there are processors."""
    os.chdir(ROOT)
    # A failure is enough: no search for a smaller one
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutate", phases=phases)
    hypothesis.settings.load_profile("mutate")
    chosen = [m for m in MUTATIONS if not words or any(word in m.file for word in words)]
    if not chosen:
        raise SystemExit(f"no mutation of a file whose path holds {' or '.join(words)}")
    gc.freeze()  # pytest collects garbage in every child: not what is here already
    began = time.monotonic()
    _, status = os.waitpid(start(sorted({f"tests/{m.test}" for m in chosen})), 0)
    if os.waitstatus_to_exitcode(status) != PASSED:
        print("the named tests fail, or are not there, without any mutation: run them with pytest")
        return 1
    wrong = survivors(chosen, processes=os.cpu_count() or 1)
    for file, count in sorted(Counter(m.file for m in chosen).items()):
        print(f"{count:4}  {file}")
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} mutations caught in {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
