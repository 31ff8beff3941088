import pytest

from groupwise.runs.schema import CompletionRecord, GroupRecord


def make_group(step, *, score=1.0, text="4"):
    completion = CompletionRecord(
        token_ids=[5, 2],
        text=text,
        score=score,
        score_parts={"exact": 1.0},
        weights=[0.5],
        finish_reason="stop",
        logprobs=[-0.25, -1.5],
    )
    return GroupRecord(step=step, origin="sums:1", prompt="2 + 2 =", prompt_ids=(1, 3, 4), completions=[completion])


@pytest.fixture
def group():
    return make_group
