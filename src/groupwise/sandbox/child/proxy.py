"""The program as tests see it: a function that sends its arguments to another process and returns what comes back."""

import builtins
from collections.abc import Callable
from typing import Any

from . import values, wire

ANSWERS, CALLS = 5, 6
# Raised within `map` or `filter` these would read as "no more": `all(map(right, cases))` holds when nothing is left.
_ENDS = (StopIteration, StopAsyncIteration)


class Stop(BaseException):
    """The tests cannot go on; not an Exception, so that a test does not take it for one of the program's."""


class Link:
    """The connection to the program. `why` is set once nothing more can be asked of it."""

    def __init__(self) -> None:
        self.why: tuple[str, str] | None = None  # (word, message)
        self.calls = 0
        self.answers = wire.Reader(ANSWERS)
        self.memory = False  # whether the program reported MemoryError

    def open(self) -> None:
        """Wait until the program is loaded. Raises Stop."""
        answer = self._receive()
        if answer[:1] == [-1]:
            self.stop("memory" if answer[1:2] == ["memory"] else "error", ": ".join(map(str, answer[2:4])))
        if answer != [0, "ok"]:
            self.stop("protocol_error", "the first answer is no greeting")

    def stop(self, word: str, message: str) -> None:
        """Raise Stop, now and at every further call."""
        self.why = self.why or (word, message)
        raise Stop

    def function(self, name: str) -> Callable[..., Any]:
        """The program's function of this name."""

        def program(*args: Any, **kwargs: Any) -> Any:
            return self._call(name, args, kwargs)

        program.__name__ = program.__qualname__ = name
        return program

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.why is not None:
            raise Stop
        self.calls += 1
        try:
            tokens = values.encode((args, kwargs), strict=True)
        except (TypeError, values.TooLarge) as error:
            self.stop("unsupported_value", f"the tests call {name} with what cannot be sent: {error}")
        try:
            wire.write(CALLS, values.dumps([name, *tokens]))
        except wire.Closed:
            self.stop("gone", f"in call {self.calls}")
        number, status, *rest = [*self._receive(), None, None][:-2] or [None, None]
        if number != self.calls:
            self.stop("protocol_error", f"an answer to call {str(number)[:20]} when {self.calls} was asked")
        if status == "ok":
            return self._value(rest, args)
        if status == "large":
            self.stop("output_limit", f"the answer is too large: {str(rest[:1])[:100]}")
        raise self._exception(status, [str(text) for text in rest])

    def _receive(self) -> list[values.Token]:
        try:
            answer = values.loads(self.answers.read())
        except wire.Closed:
            self.stop("gone", f"in call {self.calls}" if self.calls else "while it was loaded")
        except (wire.Broken, values.Malformed) as error:
            self.stop("protocol_error", str(error))
        if len(answer) < 2:
            self.stop("protocol_error", "an answer without a status")
        return answer

    def _value(self, tokens: list[values.Token], args: tuple[Any, ...]) -> Any:
        """The result; lists, dicts and sets among the arguments are changed as the program changed its copies."""
        try:
            result, at = _counted(tokens, 0)
            opaque = next((token for token in result if type(token) is str and token[:1] == "?"), None)
            if opaque is not None:
                self.stop("unsupported_value", f"the program returned {str(opaque)[1:]}, which is not plain data")
            value = values.decode(result)
            while at < len(tokens):
                place = tokens[at]
                changed, at = _counted(tokens, at + 1)
                if type(place) is not int or not 0 <= place < len(args):
                    raise values.Malformed("a change to no argument")
                _assign(args[place], values.decode(changed))
        except (values.Malformed, IndexError) as error:
            self.stop("protocol_error", str(error))
        return value

    def _exception(self, status: Any, texts: list[str]) -> Exception:
        if status == "memory":
            self.memory = True
            return MemoryError(*texts[1:2])
        if status != "error" or len(texts) != 3:
            self.stop("protocol_error", f"status {str(status)[:40]!r}")
        name, message, base = texts
        for known in (name, base):
            kind = getattr(builtins, known, None)
            if isinstance(kind, type) and issubclass(kind, _ENDS):
                return RuntimeError(f"the program raised {name}: {message}")
            if isinstance(kind, type) and issubclass(kind, Exception):
                try:
                    return kind(message if known == name else f"{name}: {message}")
                except TypeError:  # UnicodeDecodeError and its kin want more than a message
                    return ValueError(f"{name}: {message}")
        return Exception(f"{name}: {message}")


def _counted(tokens: list[values.Token], at: int) -> tuple[list[values.Token], int]:
    length = tokens[at]
    if type(length) is not int or not 0 < length <= len(tokens) - at - 1:
        raise values.Malformed("a length that does not fit")
    return tokens[at + 1 : at + 1 + length], at + 1 + length


def _assign(target: Any, value: Any) -> None:
    if isinstance(target, list | bytearray) and isinstance(value, list | bytearray):
        target[:] = value
    elif (isinstance(target, dict) and isinstance(value, dict)) or (isinstance(target, set) and isinstance(value, set)):
        target.clear()
        target.update(value)
    else:
        raise values.Malformed("a change to what does not change")
