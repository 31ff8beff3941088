"""A tier that does not work here is refused by name, and never replaced by a weaker one in silence."""

import os
import subprocess
import sys

import pytest

from groupwise.errors import ConfigError, SandboxError
from groupwise.sandbox import Limits, Sandbox, canary, paths, probe
from groupwise.sandbox.pool import CANDIDATE
from groupwise.sandbox.zygote import Setup, Zygote

DENY = probe.DENY
NOBODY = ["--reuid=65534", "--regid=65534", "--clear-groups"]
BY_CALL = {
    "namespaces": ["unshare", "setns", "mount", "pivot_root", "uid_map", "seccomp", "pidfd_open", "capset"],
    "landlock": ["landlock", "seccomp", "pidfd_open", "capset"],
}


@pytest.mark.parametrize(("tier", "call"), [(tier, call) for tier, calls in BY_CALL.items() for call in calls])
def test_a_denied_call_is_named(tier, call, monkeypatch):
    monkeypatch.setenv(DENY, call)
    with pytest.raises(SandboxError, match=rf"{tier}: {call}\w* failed") as refusal:
        Sandbox(workers=1, tier=tier)
    assert "allow_unsafe=True" in str(refusal.value), "the way out"


def test_without_namespaces_landlock_is_taken_and_said(monkeypatch):
    monkeypatch.setenv(DENY, "unshare")
    with Sandbox(workers=1) as box:
        assert box.tier == "landlock"
        report = box.report()
        assert "tier: landlock" in report
        assert "not available: namespaces: unshare failed" in report
        assert box.run_stdio("print(1)", stdin="", expected="1").tier == "landlock"


def test_without_either_nothing_runs(monkeypatch):
    monkeypatch.setenv(DENY, "unshare, landlock")
    with pytest.raises(SandboxError, match=r"namespaces: unshare failed.*landlock: landlock_create_ruleset failed"):
        Sandbox(workers=1)


@pytest.mark.parametrize("denied", ["unshare,landlock", "unshare,landlock,seccomp"])
def test_weaker_only_if_asked_for_and_every_verdict_says_so(denied, monkeypatch):
    monkeypatch.setenv(DENY, denied)
    with Sandbox(workers=1, tier="namespaces", allow_unsafe=True) as box:
        verdict = box.run_calls("def f(): return 1", entry="f", inputs=[[]], expected=[1])
        assert (verdict.verdict, verdict.tier, verdict.integrity) == ("pass", "rlimits", "unprotected")
        verdict = box.run_tests("def f(): return 1", entry="f", tests="assert f() == 1")
        assert (verdict.verdict, verdict.tier, verdict.integrity) == ("pass", "rlimits", "unprotected")
        assert "nothing is hidden" in box.report()
        assert ("seccomp: OFF" in box.report()) == ("seccomp" in denied)


def test_the_weakest_tier_needs_the_word_unsafe():
    with pytest.raises(SandboxError, match="allow_unsafe=True"):
        Sandbox(workers=1, tier="rlimits")


def test_the_canary_sees_what_leaks():
    """A zygote that isolates nothing, taken for one that does."""
    setup = Setup(
        tier="rlimits", paths=paths.visible(()), limits=Limits().for_child(), preload=(), deny=("seccomp", "landlock")
    )
    zygote = Zygote(setup, CANDIDATE)
    try:
        found = canary.ways_out(zygote, "landlock")
    finally:
        zygote.close()
    assert {"read a file of the library's", "read /etc/passwd", "open a network socket", "fork"} <= set(found)


def test_a_leak_found_later_ends_the_sandbox(monkeypatch):
    with Sandbox(workers=1) as box:
        monkeypatch.setattr(canary, "EVERY", 1)
        assert box.run_stdio("print(1)", stdin="", expected="1").verdict == "pass"
        monkeypatch.setattr(canary, "_SOURCE", "def ways_out(*_): return ['open a network socket']")
        with pytest.raises(SandboxError, match="leaks: a program could open a network socket"):
            box.run_stdio("print(1)", stdin="", expected="1")


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_are_sent_to_docker(platform):
    with pytest.raises(SandboxError, match="docker run"):
        probe.only_linux(platform)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"tier": "jail"}, "'jail'"),
        ({"workers": 0}, "workers = 0"),
        ({"cpu_s": -1}, "cpu_s = -1"),
        ({"memory": 5}, "unknown setting `memory`"),
        ({"packages": ["no_such_package"]}, "no_such_package"),
    ],
)
def test_settings_are_checked(settings, says):
    with pytest.raises((ConfigError, SandboxError), match=says):
        Sandbox(**settings)


def test_importing_the_sandbox_brings_no_torch():
    heavy = ("torch", "numpy", "transformers")
    code = f"import sys, groupwise.sandbox; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


DOCKERS_ROOT = (
    "+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_raw,+sys_chroot,+mknod,+setfcap"
)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give rights up")
@pytest.mark.parametrize(
    ("tier", "rights"),
    [
        ("namespaces", [*NOBODY, "--no-new-privs"]),
        ("landlock", [*NOBODY, "--no-new-privs"]),
        ("landlock", ["--inh-caps=-all", f"--bounding-set=-all,{DOCKERS_ROOT}"]),
        ("landlock", ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]),
    ],
    ids=["user-namespaces", "user-landlock", "root-of-docker", "root-without-rights"],
)
def test_less_than_root_gets_the_same(tier, rights):
    python = next((path for path in (sys.executable, "/usr/bin/python3") if _anyone_may_run(path)), None)
    if python is None:
        pytest.skip("no Python that an ordinary user may run")
    code = (
        "from groupwise.sandbox import Sandbox\n"
        f"with Sandbox(workers=1, tier={tier!r}) as box:\n"
        "    print(box.run_tests('def f(): return 1', entry='f', tests='assert f() == 1').verdict, box.tier)\n"
        "    print(box.run_stdio('print(open(\"/etc/passwd\").read())', stdin='', expected='').verdict)\n"
    )
    source = os.path.dirname(os.path.dirname(os.path.dirname(probe.__file__)))
    env = {"PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(["setpriv", *rights, python, "-c", code], capture_output=True, text=True, env=env, cwd="/")
    assert result.stdout.split() == ["pass", tier, "error"], result.stderr


def _anyone_may_run(path):
    code = "import subprocess, sys; sys.exit(sys.version_info < (3, 11) or subprocess.call([sys.executable, '-c', '']))"
    try:
        return subprocess.run(["setpriv", *NOBODY, path, "-c", code], capture_output=True).returncode == 0
    except OSError:
        return False
