# expect: pass
# note: a pair of sockets is allowed (asyncio needs one); it must not be able to write to other addresses
import ctypes
import socket


def add(a, b):
    target = "\0groupwise-@TAG@-dgram"
    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
        for family in (socket.AF_UNIX, socket.AF_INET):
            try:
                left, right = socket.socketpair(family, kind)
            except OSError:
                continue
            if kind != socket.SOCK_STREAM:
                print("ESCAPE pair", kind)
            for act in (
                lambda: left.sendto(b"hello", target),
                lambda: left.connect(target),
                lambda: left.bind("\0groupwise-bound"),
                lambda: left.sendmsg([b"hello"], [], 0, target),
                lambda: left.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"\0\0\0\0")]),
                lambda: left.listen(),
            ):
                try:
                    act()
                    print("ESCAPE", kind, "by a pair")
                except OSError:
                    continue
    libc = ctypes.CDLL(None, use_errno=True)
    left, right = socket.socketpair()
    address = b"\1\0" + target.encode()
    if libc.sendto(left.fileno(), b"hello", 5, 0, address, len(address)) > 0:
        print("ESCAPE sendto")
    return a + b
