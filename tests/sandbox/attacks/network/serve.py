# expect: pass
import socketserver


def add(a, b):
    for kind, address in (
        (socketserver.TCPServer, ("127.0.0.1", 0)),
        (socketserver.UDPServer, ("127.0.0.1", 0)),
        (socketserver.UnixStreamServer, "here"),
    ):
        try:
            kind(address, socketserver.BaseRequestHandler)
            print("ESCAPE serves", kind.__name__)
        except OSError as error:
            print(error)
    return a + b
