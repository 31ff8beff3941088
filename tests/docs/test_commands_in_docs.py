"""What the pages tell a reader to type is what the command takes, and their Python runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from groupwise.cli.main import parse
from groupwise.config import parse_overrides
from groupwise.recipe import recipe_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(groupwise [^`]+)`")


def blocks(kind):
    return [
        pytest.param(text, id=f"{page.stem}-{i}")
        for page in PAGES
        for i, (language, text) in enumerate(FENCED.findall(page.read_text()))
        if language == kind
    ]


def commands():
    for page in PAGES:
        text = page.read_text()
        lines = [line for language, block in FENCED.findall(text) if language == "sh" for line in block.splitlines()]
        lines += INLINE.findall(FENCED.sub("", text))
        for line in lines:
            for command in re.split(r"&&|\|", line):
                words = shlex.split(command, comments=True)
                if words[:1] == ["groupwise"] and len(words) > 1:
                    yield pytest.param(words[1:], id=f"{page.stem}: {command.strip()}")


@pytest.mark.parametrize("words", list(commands()))
def test_commands_parse(words):
    _, rest = parse([word.removesuffix("...") for word in words])
    parse_overrides(rest)


@pytest.mark.parametrize("text", blocks("python"))
def test_python_compiles(text):
    compile(text, "page", "exec")


def test_the_readmes_python_prints_what_it_says(tmp_path):
    found = FENCED.findall((ROOT / "README.md").read_text())
    at = next(i for i, (kind, _) in enumerate(found) if kind == "python")
    done = subprocess.run(
        [sys.executable, "-c", found[at][1]], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == found[at + 1][1]


def test_the_smallest_recipe_is_one():
    text = next(block for kind, block in FENCED.findall((ROOT / "README.md").read_text()) if kind == "yaml")
    assert recipe_of(yaml.safe_load(text)).train.steps == 100
