"""Imports go down only. The arrows are written here once; a new part of the package gets a line of its own."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "groupwise"
LEAVES = {"errors", "registry", "config", "user_module", "clock"}  # helpers that anyone may use but what they stand on
BELOW_LEAVES = {"functional", "errors", "candidates"}

ARROWS = {
    "functional": set(),
    "errors": set(),
    "candidates": {"functional", "errors"},
    "user_module": set(),
    "clock": set(),
    "registry": {"candidates"},  # names to objects: it must know what an objective is
    "config": {"candidates"},
    "objectives": {"candidates", "functional"},
    "fetch": set(),
    "sandbox": set(),
    "rewards": {"sandbox", "data", "models"},  # a reward model is a model
    "data": {"candidates"},
    "models": {"candidates", "data"},
    "engines": {"candidates", "data", "models"},  # the local engine samples from the policy itself
    "sources": {"candidates", "data", "engines", "models", "rewards"},  # a source is handed the policy to sample from
    "runs": {"candidates"},
    "train": {"candidates", "functional", "data", "models", "runs"},  # objective and source arrive as arguments
    "evaluate": {"candidates", "data", "models", "engines", "rewards", "runs"},
    "advise": {"candidates", "data", "models", "engines", "rewards", "evaluate", "runs"},
    "dashboard": {"runs"},
    "recipe": {"candidates", "data", "engines", "models", "rewards", "train"},  # every part's settings
    "inputs": {"recipe", "candidates", "data", "models", "rewards"},  # what a recipe's data and reward name
    "runner": {
        "inputs",
        "recipe",
        "candidates",
        "data",
        "engines",
        "models",
        "rewards",
        "sources",
        "train",
        "evaluate",
        "runs",
    },
    "stages": {"recipe", "runs"},  # a recipe of recipes
    "compare": {
        "inputs",
        "recipe",
        "runner",
        "candidates",
        "data",
        "models",
        "engines",
        "evaluate",
        "rewards",
        "runs",
        "train",
    },
    "pipeline": {"inputs", "stages", "recipe", "runner", "runs", "train"},  # stages are runs; ranks wait between them
}
TOP = {"cli", "demo", "__main__"}  # parsing and printing: may import everything below
FACE = {"__init__": {"candidates"}}  # `import groupwise`
FILES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Dotted names that a file imports, wherever in it, and their lines; `from a import b` counts as a.b."""
    package = ["groupwise", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)


def target(name: str) -> str:
    """The part of the package that a dotted name of ours belongs to."""
    part = name.split(".")[1] if "." in name else "__init__"
    return part if part in ARROWS or part in TOP else "candidates"  # `from groupwise import Group`


def allowed(layer: str) -> set[str]:
    if layer in TOP:
        return {*ARROWS, *TOP}
    own = {layer, *(ARROWS | FACE)[layer]}
    return own if layer in BELOW_LEAVES else own | LEAVES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path):
    layer = layer_of(path)
    assert layer in {*ARROWS, *TOP, *FACE}, f"{layer} is new: say in ARROWS what it may import"
    ours = [(target(name), line) for name, line in imports(path) if name.split(".")[0] == "groupwise"]
    wrong = [f"{path.name}:{line} imports {part}" for part, line in ours if part not in allowed(layer)]
    assert not wrong, f"{layer} may import {sorted(allowed(layer))}: {wrong}"


def test_the_arrows_make_no_circle():
    below: dict[str, set[str]] = {}
    left = {layer: parts if layer in BELOW_LEAVES else parts - LEAVES for layer, parts in ARROWS.items()}
    while left:
        ready = {layer for layer, parts in left.items() if parts <= set(below)}
        assert ready, f"a circle among {sorted(left)}"
        below |= {layer: left.pop(layer) for layer in ready}


def test_the_mathematics_knows_torch_only():
    known = {"torch", "jaxtyping", "groupwise", *sys.stdlib_module_names}
    files = [path for path in FILES if layer_of(path) == "functional"]
    assert files
    foreign = {name for path in files for name, _ in imports(path) if name.split(".")[0] not in known}
    assert not foreign


def test_only_models_import_transformers():
    """`fetch` converts a package's weights once, before there is a model to load."""
    files = [path for path in FILES if layer_of(path) not in ("models", "fetch")]
    found = [f"{path.name}:{line}" for path in files for name, line in imports(path) if name.startswith("transformers")]
    assert not found


def test_the_dashboard_never_imports_torch():
    files = [path for path in FILES if layer_of(path) in ("dashboard", "runs")]
    found = [f"{path.name}:{line}" for path in files for name, line in imports(path) if name.split(".")[0] == "torch"]
    assert not found
