"""The filter, run instruction by instruction as the kernel would: on both machines, without either."""

import pytest

from groupwise.sandbox.child import seccomp
from groupwise.sandbox.child.syscalls import ARCHITECTURES, numbers

MACHINES = sorted(ARCHITECTURES)
EPERM, ENOSYS = seccomp.ERRNO | 1, seccomp.ERRNO | 38
PID = 4711


def answer(machine, name, *arguments, arch=None, **how):
    number = name if isinstance(name, int) else numbers(machine)[name]
    code = seccomp.program(PID, machine=machine, **{"own_files": True, "shrinking": True, **how})
    words = [number, ARCHITECTURES[arch or machine][0], 0, 0]
    for value in [*arguments, *[0] * (6 - len(arguments))]:
        words += [value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF]
    return run(code, words)


def run(code, words):
    at, value = 0, 0
    while True:
        kind, yes, no, k = code[at]
        at += 1
        if kind == seccomp.RET:
            return k
        if kind == seccomp.LD:
            value = words[k // 4]
        elif kind == seccomp.AND:
            value &= k
        elif kind == seccomp.JA:
            at += k
        else:
            at += yes if {seccomp.JEQ: value == k, seccomp.JGE: value >= k, seccomp.JSET: bool(value & k)}[kind] else no


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_is_decided_as_the_list_says(machine):
    table = {number: name for name, number in numbers(machine).items()}
    checked = {"clone", "fcntl", "ioctl", "prctl", "prlimit64", "kill", "tgkill", "socketpair", "sendto"}
    allowed = {*seccomp.ALLOWED, *seccomp.OWN_FILES}
    for number in range(600):
        name = table.get(number)
        if name in checked:
            continue
        found = answer(machine, number)
        if name in allowed:
            assert found == seccomp.ALLOW, name
        elif name in seccomp.PRETENDED:
            assert found == seccomp.ERRNO, name
        elif name in seccomp.ABSENT or number > max(table):
            assert found == ENOSYS, number
        else:
            assert found == EPERM, (number, name)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "allowed"),
    [
        ("clone", [0x3D0F00], True),  # a thread of glibc's
        ("clone", [0x11], False),  # fork
        ("clone", [0x3D0F00 | 0x10000000], False),  # CLONE_NEWUSER
        ("clone", [0x3D0F00 | 0x80], False),  # CLONE_NEWTIME
        ("kill", [PID, 9], True),
        ("kill", [PID + 1, 9], False),
        ("kill", [0, 9], False),
        ("kill", [-1, 9], False),
        ("tgkill", [PID, 9, 9], True),
        ("tgkill", [1, 1, 9], False),
        ("prlimit64", [0, 7], True),
        ("prlimit64", [1, 7], False),
        ("socketpair", [1, 1 | 0o2000000 | 0o4000], True),
        ("socketpair", [1, 2], False),
        ("socketpair", [2, 1], False),
        ("sendto", [3, 1, 1, 0, 0, 0], True),
        ("sendto", [3, 1, 1, 0, 1 << 40, 16], False),
        ("sendto", [3, 1, 1, 0, 1, 16], False),
        ("fcntl", [3, 1030], True),  # F_DUPFD_CLOEXEC
        ("fcntl", [3, 8, 1], False),  # F_SETOWN
        ("fcntl", [3, 1031, 1 << 20], False),  # F_SETPIPE_SZ
        ("ioctl", [0, 0x5412], False),  # TIOCSTI
        ("ioctl", [0, 0x541B], True),  # FIONREAD
        ("prctl", [15], True),
        ("prctl", [1, 0], False),  # the signal on a parent's death
        ("prctl", [4, 1], False),  # dumpable
    ],
)
def test_arguments_are_looked_at(machine, name, arguments, allowed):
    assert answer(machine, name, *arguments) == (seccomp.ALLOW if allowed else EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_files_of_others_keep_their_modes_and_lengths(machine):
    for name in set(seccomp.OWN_FILES) & set(numbers(machine)):
        assert answer(machine, name, own_files=False) == EPERM
    assert answer(machine, "truncate", own_files=False, shrinking=False) == EPERM
    assert answer(machine, "ftruncate", own_files=False, shrinking=False) == seccomp.ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_another_machines_calls_end_the_process(machine):
    (other,) = set(MACHINES) - {machine}
    assert answer(machine, "read", arch=other) == seccomp.KILL
    assert answer(machine, 0x40000000 + 39) == ENOSYS  # x32
    assert len(seccomp.program(PID, own_files=True, shrinking=True, machine=machine)) < 600
