"""The faults that tools/mutate.py tries are still faults of the code as it stands; trying them takes longer."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("mutations", ROOT / "tools" / "mutations.py")
mutations = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutations)


@pytest.mark.parametrize("m", mutations.MUTATIONS, ids=lambda m: f"{m.file}: {m.old}")
def test_a_mutation_finds_its_place_and_its_test(m):
    assert (ROOT / "src" / "groupwise" / m.file).read_text().count(m.old) == 1
    file, _, name = m.test.partition("::")
    assert f"def {name}(" in (ROOT / "tests" / file).read_text()
