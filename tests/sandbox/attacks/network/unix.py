# expect: pass
import socket


def add(a, b):
    for path in ("@STAGE@/listener", "\0groupwise-@TAG@", "\0groupwise-@TAG@-dgram", "/run/docker.sock"):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            try:
                one = socket.socket(socket.AF_UNIX, kind)
                one.connect(path)
                one.send(b"hello")
                print("ESCAPE", repr(path))
            except OSError as error:
                print(type(error).__name__)
    return a + b
