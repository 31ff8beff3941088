"""One POST to one server: connections kept alive, proxies of the environment, TLS checked, a clock over the whole."""

import base64
import contextlib
import http.client
import selectors
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from groupwise.errors import ConfigError

LARGEST_REPLY = 16 * 2**20  # bytes; a longer reply is no verdict
LOCAL_NAMES = ("localhost", "localhost.localdomain")


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered."""

    status: int
    reason: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class _GoneError(ConnectionError):
    """The server had closed a kept connection."""


class Server:
    """A pool of connections to the server of a URL. Redirects are not followed: a key goes where it was sent."""

    def __init__(self, url: str, *, timeout_s: float) -> None:
        self.parts, self.timeout_s = urlsplit(url), timeout_s
        self.proxy = _proxy(self.parts)
        self._idle: list[http.client.HTTPConnection] = []
        self._active: set[socket.socket] = set()
        self._lock, self._closed = threading.Lock(), False
        weakref.finalize(self, _close_all, self._idle)

    def post(self, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send, and wait for the whole answer.

        A kept connection that the server had closed meanwhile is replaced. Raises TimeoutError where that
        takes longer than `timeout_s`, slow drips included; OSError or http.client.HTTPException where the connection
        fails.
        """
        deadline = time.monotonic() + self.timeout_s
        kept = self._kept()
        if kept is not None:
            with contextlib.suppress(_GoneError):
                return self._post(kept, body, headers, deadline)
        return self._post(self._made(), body, headers, deadline)

    def _post(
        self, connection: http.client.HTTPConnection, body: bytes, headers: Mapping[str, str], deadline: float
    ) -> Response:
        fresh = connection.sock is None
        expired = threading.Event()
        try:
            if fresh:
                connection.connect()
            sock = connection.sock
            timer = threading.Timer(max(deadline - time.monotonic(), 0), _end, [sock, expired])
            timer.daemon = True
            self._begin(sock)
            timer.start()
            try:
                response = self._exchange(connection, body, headers, fresh=fresh)
            finally:
                timer.cancel()
                with self._lock:
                    self._active.discard(sock)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if expired.is_set() or isinstance(error, TimeoutError) or time.monotonic() > deadline:
                raise TimeoutError(f"no whole answer within {self.timeout_s:g} s") from error
            raise
        except BaseException:
            connection.close()
            raise
        if expired.is_set():
            connection.close()
        elif connection.sock is not None:
            self._keep(connection)
        return response

    def close(self) -> None:
        """End what is underway, and close what is kept."""
        with self._lock:
            self._closed = True
            for sock in self._active:
                _end(sock)
        _close_all(self._idle)

    def _begin(self, sock: socket.socket) -> None:
        with self._lock:
            if self._closed:
                raise ConnectionAbortedError("the judge was closed")
            self._active.add(sock)

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _exchange(
        self, connection: http.client.HTTPConnection, body: bytes, headers: Mapping[str, str], *, fresh: bool
    ) -> Response:
        try:
            connection.request("POST", self._target(), body=body, headers={**headers, **self._proxy_headers()})
            answer = connection.getresponse()
        except (BrokenPipeError, ConnectionResetError) as error:  # before a byte of an answer
            raise error if fresh else _GoneError(*error.args) from error
        chunks, size = [], 0
        while chunk := answer.read(65536):
            size += len(chunk)
            if size > LARGEST_REPLY:
                raise http.client.HTTPException(f"the reply is over {LARGEST_REPLY:,} bytes")
            chunks.append(chunk)
        if answer.length:  # read(n) ends in silence where the body is shorter than was said
            raise http.client.IncompleteRead(b"", answer.length)
        if answer.will_close:
            connection.close()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, answer.reason, named, b"".join(chunks))

    def _kept(self) -> http.client.HTTPConnection | None:
        """A connection that is kept and, as far as can be seen, still open."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                kept = self._idle.pop()
            if kept.sock is not None and not _readable(kept.sock):
                return kept
            kept.close()

    def _made(self) -> http.client.HTTPConnection:
        host, port, timeout = self.parts.hostname or "", self.parts.port, self.timeout_s
        secure = self.parts.scheme == "https"
        context = ssl.create_default_context() if secure else None
        if self.proxy is None:
            if context is not None:
                return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
            return http.client.HTTPConnection(host, port, timeout=timeout)
        by, by_port = self.proxy.hostname or "", self.proxy.port or 80
        if context is None:
            return http.client.HTTPConnection(by, by_port, timeout=timeout)
        tunnel = http.client.HTTPSConnection(by, by_port, timeout=timeout, context=context)
        tunnel.set_tunnel(host, port or 443, headers=_credentials(self.proxy))
        return tunnel

    def _target(self) -> str:
        query = f"?{self.parts.query}" if self.parts.query else ""
        relayed = self.proxy is not None and self.parts.scheme == "http"  # a plain proxy is told the whole URL
        return f"{f'http://{self.parts.netloc}' if relayed else ''}{self.parts.path}{query}"

    def _proxy_headers(self) -> Mapping[str, str]:
        return _credentials(self.proxy) if self.proxy and self.parts.scheme == "http" else {}


def is_local(host: str | None) -> bool:
    """Whether a host is this machine."""
    try:
        return host in LOCAL_NAMES or ip_address(host or "").is_loopback
    except ValueError:
        return False


def _proxy(parts: SplitResult) -> SplitResult | None:
    host = parts.hostname or ""
    found = getproxies().get(parts.scheme)
    if not found or is_local(host) or proxy_bypass(host):
        return None
    proxy = urlsplit(found if "://" in found else f"http://{found}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise ConfigError(
            f"the environment's proxy for {parts.scheme} has the scheme `{proxy.scheme}`, must be `http`: set "
            f"{parts.scheme}_proxy to one, or add {host} to no_proxy"
        )
    return proxy


def _credentials(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _readable(sock: socket.socket) -> bool:
    """Whether an idle socket has something to say, which can only be its end."""
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _end(sock: socket.socket, expired: threading.Event | None = None) -> None:
    """End an exchange from another thread; TLS's own shutdown would wait for the other side."""
    if expired is not None:
        expired.set()
    with contextlib.suppress(OSError):  # it had ended
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _close_all(connections: list[http.client.HTTPConnection]) -> None:
    while connections:
        connections.pop().close()
