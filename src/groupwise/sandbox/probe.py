"""Which tier works here: the whole start sequence is run, then a job that tries what must be refused."""

import os
import sys
from dataclasses import dataclass

from groupwise.errors import SandboxError
from groupwise.sandbox.canary import ways_out
from groupwise.sandbox.pool import CANDIDATE
from groupwise.sandbox.zygote import Setup, StartFailed, Zygote, ZygoteGone

TIERS = ("namespaces", "landlock", "rlimits")  # strongest first
DENY = "GROUPWISE_SANDBOX_DENY"  # calls, with commas between, that fail as on a machine that forbids them; for tests

_WAY_OUT = {
    "namespaces": (
        "The tier `namespaces` needs root, or user namespaces for ordinary users (sysctl user.max_user_namespaces, "
        "kernel.apparmor_restrict_unprivileged_userns on Ubuntu) and, in Docker, a seccomp profile that allows "
        "unshare and mount"
    ),
    "landlock": (
        "The tier `landlock` needs Linux 5.13 or later with `landlock` among the kernel's security modules "
        "(boot parameter lsm=) and no privilege; Docker's own seccomp profile allows it"
    ),
    "rlimits": "The tier `rlimits` needs Linux",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why a tier does not work here."""

    tier: str
    call: str
    message: str

    def __str__(self) -> str:
        return f"{self.tier}: {self.call} failed: {self.message}"


def denied() -> tuple[str, ...]:
    """Calls that a test has switched off, from the environment."""
    return tuple(name.strip() for name in os.environ.get(DENY, "").split(",") if name.strip())


def only_linux(platform: str = sys.platform) -> None:
    """Raise SandboxError where there is no Linux kernel to isolate with."""
    if platform != "linux":
        raise SandboxError(
            f"the sandbox runs on Linux only, this is {platform!r}: neither macOS nor Windows has the namespaces, "
            f"Landlock or seccomp it stands on. Run it in a Linux container, e.g. "
            f"`docker run --rm -it -v .:/work -w /work python:3.12`, where the tier `landlock` works without options"
        )


def wanted(tier: str | None, *, allow_unsafe: bool) -> tuple[str, ...]:
    """The tiers to try, in order."""
    if tier is not None and tier not in TIERS:
        raise SandboxError(f"sandbox: tier = {tier!r}, must be one of {', '.join(TIERS)}, or None for the best here")
    if tier == "rlimits" and not allow_unsafe:
        raise SandboxError(
            "sandbox: tier = 'rlimits' hides nothing from a program (files, keys, other processes' memory) and so "
            "cannot vouch for a verdict. Take tier = None, or say allow_unsafe=True if you trust every program"
        )
    first = 0 if tier is None else TIERS.index(tier)
    if allow_unsafe:
        return TIERS[first:]
    return TIERS[:2] if tier is None else (tier,)


def find(setups: dict[str, Setup], *, allow_unsafe: bool) -> tuple[Zygote, list[Refusal]]:
    """A zygote of the first tier that works, and why the ones before it do not. Raises SandboxError for none."""
    refusals: list[Refusal] = []
    for tier, setup in setups.items():
        try:
            return _tried(setup), refusals
        except StartFailed as error:
            refusals.append(Refusal(tier=tier, call=error.call, message=str(error)))
    raise SandboxError(_none(refusals, allow_unsafe=allow_unsafe))


def _none(refusals: list[Refusal], *, allow_unsafe: bool) -> str:
    lines = [f"no sandbox of the strength asked for works here. {'; '.join(map(str, refusals))}."]
    lines += [f"{_WAY_OUT[refusal.tier]}." for refusal in refusals]
    if not allow_unsafe:
        lines.append("For programs you trust, allow_unsafe=True takes what is left; every verdict then says so.")
    return " ".join(lines)


def _tried(setup: Setup) -> Zygote:
    zygote = Zygote(setup, CANDIDATE)
    try:
        out = ways_out(zygote, setup.tier)
    except ZygoteGone as error:
        zygote.close()
        raise StartFailed("canary", f"the worker ended in its first job: {error} {zygote.last_words()}") from None
    except BaseException:
        zygote.close()
        raise
    if out:
        zygote.close()
        raise StartFailed("canary", f"a program could {', '.join(out)}")
    return zygote
