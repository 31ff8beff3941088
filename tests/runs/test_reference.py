import ast
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import groupwise
from groupwise.runs import schema
from groupwise.runs.reference import reference

PACKAGE = Path(groupwise.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "run_directory.md"


def test_the_page_holds_the_reference_as_it_is_now():
    assert reference() in PAGE.read_text(), "put the output of `python -m groupwise.runs.reference` into the page"


@pytest.mark.parametrize("record", schema.RECORDS, ids=lambda record: record.__name__)
def test_every_field_is_described(record):
    section = reference().split(f"### {record.__name__}\n")[1].split("### ")[0]
    names = [item.name for item in fields(record)] if is_dataclass(record) else list(record.__annotations__)
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert [row[0].strip("| `") for row in rows] == names
    assert all(len(row[2].strip("| ")) > 5 for row in rows)


def test_every_record_is_in_the_reference():
    defined = {
        value for value in vars(schema).values() if isinstance(value, type) and value.__module__ == schema.__name__
    }
    assert defined == set(schema.RECORDS)


def test_no_torch_in_the_run_directory():
    for file in (PACKAGE / "runs").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] not in ("torch", "numpy", "transformers"), f"{file.name} imports {name}"
                if name.startswith("groupwise"):
                    assert name == "groupwise.errors" or name.startswith("groupwise.runs"), (
                        f"{file.name} imports {name}"
                    )
