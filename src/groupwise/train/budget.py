"""How long a run is: a number of steps, or as many as it takes to compute a number of tokens."""

from collections.abc import Iterator
from dataclasses import dataclass

from groupwise.runs.read import read_run
from groupwise.runs.write import Run


@dataclass(slots=True)
class Budget:
    """Steps and tokens that a run may take, and the tokens it has computed."""

    run: Run
    steps: int
    tokens: int | None
    spent: int = 0

    @classmethod
    def of(cls, run: Run, *, steps: int, tokens: int | None) -> "Budget":
        """A run's, with what it computed before it was stopped."""
        if tokens is None or not run.step:
            return cls(run, steps, tokens)
        before = (record for record in read_run(run.path).metrics() if record["step"] < run.step)
        return cls(run, steps, tokens, sum(int(record.get("tokens/computed") or 0) for record in before))

    def steps_left(self, first: int) -> Iterator[int]:
        """The steps from `first` on, until the budget is used up."""
        for step in range(first, self.steps):
            if self.tokens is not None and self.spent >= self.tokens:
                self.run.steps = step
                return
            yield step

    def spend(self, step: int, tokens: int) -> int:
        """Count the tokens of this step; how many steps the run has, as its steps so far let expect.

        Exact at the last step, so that a learning rate that falls ends where it should.
        """
        self.spent += tokens
        if self.tokens is None:
            return self.steps
        steps = min(self.steps, max(step + 1, -(-(step + 1) * self.tokens // self.spent)))
        self.run.steps = steps
        return steps
