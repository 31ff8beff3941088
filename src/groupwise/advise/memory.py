"""What training a model takes in memory, beside what there is."""

from dataclasses import dataclass

from groupwise.errors import ConfigError
from groupwise.models.memory import LEAST, MOST
from groupwise.models.size import ModelSize

TRAINED = 16  # bytes a parameter: weight, gradient and AdamW's two moments in float32
HELD = 4  # bytes a parameter of a reference in float32
ADAPTED = 2.5  # bytes a parameter that stands still in bfloat16, with adapters of 3 % of them trained
SHARE = 0.8  # of the memory that these may take: the rest is for activations
_ACTIVATIONS = 68  # bytes a token, layer and unit of width: 34 values of 16 bits (arXiv:2205.05198) in float32


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """A model's size and the memory there is, in bytes."""

    size: ModelSize
    there: float

    def __post_init__(self) -> None:
        if self.size.parameters * ADAPTED > SHARE * self.there:
            raise ConfigError(
                f"memory = {_gib(self.there)}: {self._counted()} take {_gib(self.size.parameters * ADAPTED)} even with "
                f"adapters alone trained ({ADAPTED} bytes each), more than {SHARE:.0%} of it: take a smaller model"
            )

    @property
    def full(self) -> bool:
        """Whether all parameters can be trained."""
        return self.size.parameters * TRAINED <= SHARE * self.there

    @property
    def reference(self) -> bool:
        """Whether a reference can be had: held beside the policy, or the policy with its adapters off."""
        return not self.full or self.size.parameters * (TRAINED + HELD) <= SHARE * self.there

    def max_tokens(self, *, reference: bool, checkpointing: bool) -> int:
        """Tokens of a micro-batch whose activations fit in what is left; checkpointing keeps a layer's input only."""
        size, values = self.size, 2 if not self.full else 1  # values are half as long in bfloat16
        used = ADAPTED if not self.full else TRAINED + (HELD if reference else 0)
        layer = size.width * _ACTIVATIONS / values
        token = layer + size.layers * size.width * 4 / values if checkpointing else layer * size.layers
        return min(max(int((self.there - used * size.parameters) / token), LEAST), MOST)

    def __str__(self) -> str:
        trained, held = _gib(self.size.parameters * TRAINED), _gib(self.size.parameters * HELD)
        said = (
            f"{self._counted()} take {trained} to train ({TRAINED} bytes each) and {held} to hold as a reference "
            f"({HELD} bytes each), of {_gib(SHARE * self.there)} ({SHARE:.0%} of {_gib(self.there)}, the rest is for "
            "activations)"
        )
        if self.full:
            return f"{said}."
        adapted = _gib(self.size.parameters * ADAPTED)
        return (
            f"{said}: too much, so low-rank adapters are trained in bfloat16, which takes {adapted} ({ADAPTED} bytes "
            "each); the reference is then the model without them."
        )

    def _counted(self) -> str:
        millions = self.size.parameters / 1e6
        return (
            f"{millions:,.1f} million parameters" if millions < 1000 else f"{millions / 1000:,.1f} billion parameters"
        )


def _gib(size: float) -> str:
    return f"{size / 2**30:.2g} GiB" if size < 10 * 2**30 else f"{size / 2**30:,.0f} GiB"
