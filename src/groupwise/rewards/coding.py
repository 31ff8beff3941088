"""What the rewards that run programs share: their limits, their sandbox, and what a verdict is worth."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from groupwise.errors import ConfigError

if TYPE_CHECKING:
    from groupwise.sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class Coding:
    """Settings of every reward that runs a program."""

    score: Literal["rate", "all"] = "rate"  # the share of tests passed; or 1 if all are, else 0
    cpu_s: float = 5.0  # processor time of a call
    memory_mb: int = 1024  # address space beyond the interpreter's own
    packages: tuple[str, ...] = ()  # installed packages that programs may import, beside the standard library
    workers: int = 2  # programs that run at the same time
    tier: Literal["namespaces", "landlock"] | None = None  # the least isolation; null: either, the stronger first

    in_process: ClassVar[bool] = True  # the sandbox has processes and limits of its own
    overlaps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        name = type(self).__module__.rpartition(".")[2]
        if self.score not in ("rate", "all"):
            raise ConfigError(f"{name}.score = {self.score!r}, must be `rate` or `all`")
        for field in ("cpu_s", "memory_mb", "workers"):
            if not getattr(self, field) > 0:
                raise ConfigError(f"{name}.{field} = {getattr(self, field)}, must be above 0")
        if self.tier not in (None, "namespaces", "landlock"):
            raise ConfigError(f"{name}.tier = {self.tier!r}, must be `namespaces`, `landlock` or null")
        object.__setattr__(self, "usage", Counter())  # how often each verdict was given

    def box(self) -> "Sandbox":
        """The sandbox of these limits, started at its first use. Raises SandboxError where none can be had."""
        return _box(self.workers, self.cpu_s, self.memory_mb, self.packages, self.tier)

    def worth(self, verdict: Any) -> float | None:
        """A verdict's score; None if the sandbox itself failed, which no program can cause."""
        usage: Counter[str] = vars(self)["usage"]
        usage[verdict.verdict] += 1
        if verdict.verdict == "sandbox_error":
            return None
        if verdict.verdict == "pass" or self.score == "all":
            return float(verdict.verdict == "pass")
        return min(verdict.passed / verdict.total, 1.0) if verdict.total else 0.0


@lru_cache(maxsize=4)
def _box(workers: int, cpu_s: float, memory_mb: int, packages: tuple[str, ...], tier: Any) -> "Sandbox":
    from groupwise.sandbox import Sandbox

    return Sandbox(workers=workers, cpu_s=cpu_s, memory_mb=memory_mb, packages=packages, tier=tier)
