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


def read(descriptor: int, largest: int = LARGEST) -> bytes:
    """Receive one message. Raises Closed, or Broken if it says it is longer than `largest`."""
    (length,) = struct.unpack("=I", _exactly(descriptor, 4))
    if length > largest:
        raise Broken(f"a message of {length} bytes, the limit is {largest}")
    return _exactly(descriptor, length)


def _exactly(descriptor: int, length: int) -> bytes:
    parts = []
    while length:
        try:
            part = os.read(descriptor, min(length, 1 << 20))
        except OSError:
            raise Closed from None
        if not part:
            raise Closed
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
