# expect: pass
import socket


def add(a, b):
    kinds = {
        "unix": (1, 1),
        "unix dgram": (1, 2),
        "unix packet": (1, 5),
        "tcp": (2, 1),
        "udp": (2, 2),
        "raw": (2, 3),
        "ping": (2, 2, 1),
        "tcp6": (10, 1),
        "netlink": (16, 3, 0),
        "packet": (17, 3),
        "crypto": (38, 5, 0),
        "vsock": (40, 1),
        "xdp": (44, 3),
        "can": (29, 3),
        "bluetooth": (31, 3),
        "tipc": (30, 1),
        "smc": (43, 1),
    }
    for name, arguments in kinds.items():
        try:
            socket.socket(*arguments)
            print("ESCAPE socket", name)
        except OSError as error:
            print(name, error.errno)
    return a + b
