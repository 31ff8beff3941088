# expect: pass
import socket


def add(a, b):
    size, kept = 0, []
    try:
        for _ in range(4000):
            pair = socket.socketpair()
            kept.append(pair)
            for one in pair:
                try:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 26)
                    print("ESCAPE larger buffer")
                except OSError:
                    pass
                one.setblocking(False)
                try:
                    while True:
                        size += one.send(b"z" * 65536)
                except BlockingIOError:
                    continue
    except OSError as error:
        print(error)
    if size > 64 << 20:
        print("ESCAPE", size, "bytes in socket buffers")
    return a + b
