# expect: pass
import socket
import urllib.request


def add(a, b):
    try:
        print("ESCAPE", socket.getaddrinfo("example.com", 80))
    except OSError as error:
        print(error)
    try:
        urllib.request.urlopen("http://127.0.0.1:@PORT@/", timeout=0.5)
        print("ESCAPE page")
    except OSError as error:
        print(error)
    return a + b
