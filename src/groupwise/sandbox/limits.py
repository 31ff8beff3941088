"""What one execution may use."""

from dataclasses import dataclass

from groupwise.errors import ConfigError

_MIB = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Bounds of one execution (one program on one input, or on one task's calls or tests)."""

    cpu_s: float = 5.0  # seconds of CPU time, of all its threads
    wall_s: float | None = None  # seconds by the clock; None: three times cpu_s and 2 more, for a busy machine
    memory_mb: int = 1024  # MiB of address space beyond what Python itself has
    scratch_mb: int = 32  # MiB of /tmp (tier `namespaces` only; elsewhere nothing is writable)
    stdout_kb: int = 1024  # KiB that may be printed; more ends the execution
    result_mb: int = 8  # MiB that all answers of one execution may have
    threads: int = 40  # threads and processes in a worker (tier `namespaces`)

    def __post_init__(self) -> None:
        for name, least, most in (
            ("cpu_s", 0.05, 3600),
            ("memory_mb", 16, 1 << 20),
            ("scratch_mb", 1, 1 << 16),
            ("stdout_kb", 1, 1 << 17),
            ("result_mb", 1, 256),
            ("threads", 4, 4096),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise ConfigError(f"sandbox: {name} = {value!r}, must be a number from {least} to {most}")
        wall = self.wall_s
        if wall is not None and (isinstance(wall, bool) or not 0.05 <= wall <= 36000):
            raise ConfigError(f"sandbox: wall_s = {wall!r}, must be a number from 0.05 to 36000, or None")

    @property
    def wall(self) -> float:
        """Seconds by the clock."""
        return 3 * self.cpu_s + 2 if self.wall_s is None else self.wall_s

    def for_child(self) -> dict[str, int]:
        """What the zygote enforces by itself, in bytes and counts."""
        return {
            "memory": int(self.memory_mb * _MIB),
            "scratch": int(self.scratch_mb * _MIB),
            "threads": int(self.threads) + 4,  # the zygote, its keeper and the canary's margin
        }
