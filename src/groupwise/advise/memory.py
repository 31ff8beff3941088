"""What training a model takes in memory, beside what there is."""

from dataclasses import dataclass

TRAINED = 16  # bytes a parameter: weight, gradient and AdamW's two moments in float32
HELD = 4  # bytes a parameter of a reference in float32
SHARE = 0.8  # of the memory that these may take: the rest is activations and the framework


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """A model's parameters and the memory there is, in bytes."""

    parameters: int
    there: float

    @property
    def full(self) -> bool:
        """Whether all parameters can be trained."""
        return self.parameters * TRAINED <= SHARE * self.there

    @property
    def with_reference(self) -> bool:
        """Whether a reference fits beside that."""
        return self.parameters * (TRAINED + HELD) <= SHARE * self.there

    def __str__(self) -> str:
        trained, held = (self.parameters * size / 2**30 for size in (TRAINED, HELD))
        return (
            f"{self.parameters / 1e6:,.0f}M parameters take {trained:,.1f} GiB trained ({TRAINED} bytes each) and "
            f"{held:,.1f} GiB held as a reference, of {SHARE * self.there / 2**30:,.1f} GiB ({SHARE:.0%} of it all)"
        )
