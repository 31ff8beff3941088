"""Messages over a pipe: four bytes of length, then that many bytes."""

import os
import struct

LARGEST = 8 << 20  # bytes of one message


class Closed(Exception):  # noqa: N818  # says what happened
    """The other side is gone."""


class Broken(Exception):  # noqa: N818  # says what happened
    """The other side does not keep to the protocol."""


def split(data: bytes | bytearray, most: int) -> list[bytes]:
    """The whole messages in what was read; one cut short at the end is left out. Linear. Raises Broken."""
    out: list[bytes] = []
    at = 0
    while at + 4 <= len(data):
        if len(out) == most:
            raise Broken(f"more than {most} messages")
        (length,) = struct.unpack_from("=I", data, at)
        if at + 4 + length > len(data):
            break
        out.append(bytes(data[at + 4 : at + 4 + length]))
        at += 4 + length
    return out


def write(descriptor: int, body: bytes) -> None:
    """Send one message. Raises Closed."""
    view = memoryview(struct.pack("=I", len(body)) + body)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:
        raise Closed from None


class Reader:
    """Receives messages; what arrives together is read together."""

    def __init__(self, descriptor: int, largest: int = LARGEST) -> None:
        self._descriptor, self._largest = descriptor, largest
        self._left = b""

    def read(self) -> bytes:
        """The next message. Raises Closed, or Broken if it says it is longer than the largest."""
        data = self._left
        while len(data) < 4:
            data += self._more(1 << 16)
        (length,) = struct.unpack_from("=I", data)
        if length > self._largest:
            raise Broken(f"a message of {length} bytes, the limit is {self._largest}")
        missing = 4 + length - len(data)
        if missing > 0:
            parts = [data]
            while missing > 0:
                parts.append(self._more(min(missing, 1 << 20)))
                missing -= len(parts[-1])
            data = b"".join(parts)
        self._left = data[4 + length :]
        return data[4 : 4 + length]

    def _more(self, most: int) -> bytes:
        try:
            part = os.read(self._descriptor, most)
        except OSError:
            raise Closed from None
        if not part:
            raise Closed
        return part
