"""What fits on a screen can be read. The limits are the house's; nothing is exempt."""

import ast
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
ALL = SOURCES + sorted((ROOT / "tests").rglob("*.py"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


@pytest.mark.parametrize("path", ALL, ids=name)
def test_no_file_is_over_500_lines(path):
    assert len(path.read_text().splitlines()) <= 500


def test_the_median_file_has_at_most_150_lines():
    assert median(len(path.read_text().splitlines()) for path in SOURCES) <= 150


@pytest.mark.parametrize("path", ALL, ids=name)
def test_no_function_is_over_80_lines_and_no_init_over_30(path):
    long = {f.name: lines(f) for f in functions(path) if lines(f) > (30 if f.name == "__init__" else 80)}
    assert not long


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_at_most_7_parameters(path):
    for function in functions(path):
        every = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        names = [a.arg for a in every if a.arg not in ("self", "cls")]
        assert len(names) <= 7, f"{function.name} has {len(names)} parameters"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_file_is_called_after_what_it_is_not(path):
    assert path.stem not in ("utils", "util", "misc", "helpers", "common")
