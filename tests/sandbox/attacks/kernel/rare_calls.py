# expect: pass
# needs: x86_64
# note: parts of the kernel that no test program needs, and where holes are found
import ctypes

CALLS = {
    "io_uring_setup": (425, 4, bytes(120)),
    "bpf": (321, 0, bytes(64), 64),
    "userfaultfd": (323, 1),
    "perf_event_open": (298, bytes(64), 0, -1, -1, 0),
    "add_key": (248, b"user", b"k", b"v", 1, -2),
    "request_key": (249, b"user", b"k", 0, -2),
    "keyctl": (250, 0, -2, 1),
    "ptrace": (101, 0, 0, 0, 0),
    "personality": (135, 0x40000),
    "fanotify_init": (300, 0, 0),
    "inotify_init": (253,),
    "inotify_init1": (294, 0),
    "timer_create": (222, 0, 0, bytes(8)),
    "timerfd_create": (283, 1, 0),
    "signalfd4": (289, -1, bytes(8), 8, 0),
    "memfd_create": (319, b"m", 0),
    "vmsplice": (278, 1, bytes(16), 1, 0),
    "splice": (275, 0, 0, 1, 0, 1, 0),
    "tee": (276, 0, 1, 1, 0),
    "copy_file_range": (326, 0, 0, 1, 0, 1, 0),
    "io_setup": (206, 1, bytes(8)),
    "modify_ldt": (154, 0, bytes(16), 16),
    "arch_prctl": (158, 0x1003, bytes(8)),
    "iopl": (172, 3),
    "ioperm": (173, 0, 1, 1),
    "kexec_load": (246, 0, 0, 0, 0),
    "finit_module": (313, 0, b"", 0),
    "init_module": (175, 0, 0, b""),
    "delete_module": (176, b"x", 0),
    "syslog": (103, 3, bytes(64), 64),
    "reboot": (169, 0xFEE1DEAD, 672274793, 0, 0),
    "sethostname": (170, b"x", 1),
    "setdomainname": (171, b"x", 1),
    "settimeofday": (164, bytes(16), 0),
    "clock_settime": (227, 0, bytes(16)),
    "adjtimex": (159, bytes(208)),
    "clock_adjtime": (305, 0, bytes(208)),
    "acct": (163, 0),
    "vhangup": (153,),
    "lookup_dcookie": (212, 0, bytes(8), 8),
    "nfsservctl": (180, 0, 0, 0),
    "uselib": (134, b"x"),
    "ustat": (136, 0, bytes(32)),
    "sysfs": (139, 3),
    "pidfd_open": (434, 1, 0),
    "pidfd_getfd": (438, 0, 0, 0),
    "process_madvise": (440, 0, 0, 0, 0, 0),
    "migrate_pages": (256, 0, 0, 0, 0),
    "mbind": (237, 0, 0, 0, 0, 0, 0),
    "set_mempolicy": (238, 0, 0, 0),
    "sched_setattr": (314, 0, bytes(48), 0),
    "sched_setscheduler": (144, 0, 3, bytes(4)),
    "seccomp": (317, 1, 0, bytes(16)),
    "landlock": (444, 0, 0, 1),
    "execveat": (322, -100, b"/bin/true", 0, 0, 0),
    "remap_file_pages": (216, 0, 0, 0, 0, 0),
    "pkey_alloc": (330, 0, 0),
    "listmount": (458, bytes(24), bytes(64), 8, 0),
    "lsm_get_self_attr": (459, 100, bytes(64), bytes(8), 0),
    "futex_waitv": (449, bytes(24), 1, 0, 0, 0),
    "quotactl_fd": (443, 0, 0, 0, 0),
    "map_shadow_stack": (453, 0, 4096, 0),
    "cachestat": (451, 0, bytes(16), bytes(40), 0),
}
HARMLESS = {"arch_prctl"}


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    for name, (number, *given) in CALLS.items():
        given = [
            ctypes.create_string_buffer(x, max(len(x), 1)) if isinstance(x, bytes) else ctypes.c_long(x) for x in given
        ]
        ctypes.set_errno(0)
        got = libc.syscall(ctypes.c_long(number), *given)
        if got >= 0 and name not in HARMLESS:
            print("ESCAPE", name, got, flush=True)
        elif ctypes.get_errno() not in (1, 38):
            print("ESCAPE", name, "reaches the kernel: errno", ctypes.get_errno(), flush=True)
    return a + b
