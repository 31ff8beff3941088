# expect: pass
import socket


def add(a, b):
    for host in ("127.0.0.1", "::1", "localhost", "10.0.0.1"):
        try:
            socket.create_connection((host, int("@PORT@")), 0.3).sendall(b"hello")
            print("ESCAPE", host)
        except OSError as error:
            print(host, type(error).__name__)
    return a + b
