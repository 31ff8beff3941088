"""A real HTTP server that answers as told, and remembers what it was asked."""

import contextlib
import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def completion(content, *, tokens=(100, 10), finish_reason="stop"):
    """The body of a chat completion."""
    found = {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}
    found["choices"][0]["finish_reason"] = finish_reason
    if tokens:
        found["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return json.dumps(found).encode()


def says(content, **details):
    return lambda handler, asked: handler.send(200, completion(content, **details))


def status(code, body=b"{}", **headers):
    return lambda handler, asked: handler.send(code, body, headers)


def drips(content):
    """One byte every 20 ms: no single wait is long, the whole is."""

    def act(handler, asked):
        body = completion(content)
        handler.start(200, len(body))
        with contextlib.suppress(OSError):
            for i in range(len(body)):
                handler.wfile.write(body[i : i + 1])
                time.sleep(0.02)

    return act


def resets(handler, asked):
    """Half a body, then the connection is torn."""
    body = completion("score: 10")
    handler.start(200, len(body))
    handler.wfile.write(body[: len(body) // 2])
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def ends_early(handler, asked):
    """Half a body, then an orderly end."""
    body = completion("score: 10")
    handler.start(200, len(body))
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True


def leaves(handler, asked):
    """Closes without a word."""
    handler.close_connection = True


def hangs_up(handler, asked):
    """A good answer; then the kept connection is closed without a word."""
    handler.send(200, completion("score: 5"))
    handler.close_connection = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Told"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.note(self, asked)(self, asked)
        with self.server.lock:
            self.server.underway -= 1

    def do_CONNECT(self):
        self.server.paths.append(f"CONNECT {self.path}")
        self.server.headers.append(dict(self.headers))
        self.send(403, b"")

    def start(self, code, length, headers=()):
        self.send_response(code)
        for name, value in dict(headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def send(self, code, body, headers=()):
        self.start(code, len(body), headers)
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Told(ThreadingHTTPServer):
    """Does `script` in turn, then `always`; each is called with the handler and the request's fields."""

    daemon_threads = True

    def __init__(self, *script, always=None, context=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.always = list(script), always or says("score: 5")
        self.asked, self.headers, self.paths, self.times, self.peers = [], [], [], [], set()
        self.underway = self.most = 0
        self.lock = threading.Lock()
        self.scheme = "https" if context else "http"
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server_port}/v1"

    def note(self, handler, asked):
        with self.lock:
            self.asked.append(asked)
            self.headers.append(dict(handler.headers))
            self.paths.append(handler.path)
            self.times.append(time.monotonic())
            self.peers.add(handler.client_address)
            self.underway += 1
            self.most = max(self.most, self.underway)
            return self.script.pop(0) if self.script else self.always

    def handle_error(self, request, client_address):
        """A client that leaves is no news here."""

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()
