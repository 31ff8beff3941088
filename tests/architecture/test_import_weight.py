"""What an import costs: `import groupwise` brings torch and nothing heavier."""

import subprocess
import sys

import pytest

HEAVY = ("transformers", "datasets", "peft", "pyarrow", "pydantic", "rich", "accelerate", "reasoning_gym", "vllm")


@pytest.mark.parametrize(
    "module", ["groupwise", "groupwise.functional", "groupwise.objectives.grpo", "groupwise.registry"]
)
def test_a_light_import_stays_light(module):
    code = f"import sys, {module}; print(*[name for name in {HEAVY} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
