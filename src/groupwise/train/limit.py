"""How many tokens a run reads at a time: as its configuration says, else as many as fit when it starts."""

from groupwise.candidates import Need
from groupwise.models.memory import MOST, tokens_that_fit
from groupwise.models.trained import Reader
from groupwise.runs.read import read_run
from groupwise.runs.write import Run
from groupwise.train.distributed import this_world

EVENT = "max_tokens"


def tokens_at_a_time(run: Run, given: int | None, policy: Reader, needs: Need) -> int:
    """`train.max_tokens`; without it what the memory allows, the least of all ranks.

    A resumed run reads as many as before, whatever is free now: else its sums would be rounded otherwise.
    """
    if given is not None:
        return given
    if run.step:
        before = [event.details for event in read_run(run.path).events() if event.kind == EVENT]
        return int(before[0]["tokens"]) if before else MOST
    world = this_world()
    found = min(world.gather([tokens_that_fit(policy, needs)]))
    if found < MOST and world.leads:
        said = (
            f"{found:,} tokens are read at a time, as the free memory allows: set train.max_tokens for another number"
        )
        run.event(0, EVENT, said, level="info", tokens=found)
    return found
