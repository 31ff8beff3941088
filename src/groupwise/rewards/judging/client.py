"""A judge behind the OpenAI API's chat completions: asked at a pace, again where that may help, within a budget."""

import hashlib
import http.client
import json
import random
import re
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NoReturn

from groupwise.errors import RewardEndedError, RewardError
from groupwise.rewards.judging.cache import Cache, Reply
from groupwise.rewards.judging.connection import Response, Server
from groupwise.rewards.judging.endpoint import Endpoint
from groupwise.rewards.judging.ledger import Ledger, Prices
from groupwise.rewards.judging.pace import Closed, Pace

Messages = Sequence[Mapping[str, str]]
LONGEST_PAUSE_S = 60.0  # between two tries, unless the server asks for more
LONGEST_HOLD_S = 600.0  # a server that wants to be left alone for longer has refused

_TOO_LONG = re.compile(r"context.{0,3}length|maximum context|too long|too many tokens|max_model_len", re.IGNORECASE)
_FILTERED = re.compile(r"content.{0,3}(filter|policy|management)", re.IGNORECASE)
_FOR_NOW = (408, 425, 429)  # and 5xx
_UNKNOWN = (401, 402, 403, 404, 405)  # no other request will fare better


class Unjudged(Exception):  # noqa: N818  # an outcome
    """No reply to one request; its argument is the reason, as it is counted."""


class Client:
    """Asks one endpoint. After an answer that tells that no request can succeed, all others are refused likewise."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.server = Server(endpoint.address, timeout_s=endpoint.timeout_s)
        self.pace = Pace(endpoint.per_second)
        self.cache = Cache(Path(endpoint.cache).expanduser() if endpoint.cache else None)
        self.ledger = Ledger(
            Prices(
                tokens_in=endpoint.price_in,
                tokens_out=endpoint.price_out,
                budget=endpoint.budget,
                requests=endpoint.budget_requests,
            )
        )
        self.remembers = endpoint.temperature == 0 or endpoint.cache is not None
        self._answered = False  # whether the server ever was what we take it for
        self._stopped: str = ""
        self._lock = threading.Lock()

    def ask(self, messages: Messages) -> Reply:
        """The model's reply to these messages.

        Raises Unjudged where none could be had this time; RewardEndedError where there will be none: the key or the
        model is not known, the budget is spent, the server was never reached.
        """
        body = self._body(messages)
        known = self.cache.get(self._digest(body)) if self.remembers else None
        if known is not None:
            self.ledger.count("from_cache")
            return known
        try:
            return self._tries(body)
        except Closed:
            raise RewardError("was closed while a question was underway") from None

    def keep(self, messages: Messages, reply: Reply) -> None:
        """Remember a reply that served."""
        if self.remembers:
            self.cache.put(self._digest(self._body(messages)), reply)

    def close(self) -> None:
        """End what is underway."""
        self.pace.close()
        self.server.close()

    def _body(self, messages: Messages) -> bytes:
        fields: dict[str, Any] = {"model": self.endpoint.model, "messages": list(messages), **self.endpoint.extra}
        for name in ("temperature", "max_tokens"):
            if getattr(self.endpoint, name) is not None:
                fields[name] = getattr(self.endpoint, name)
        if "max_completion_tokens" in fields:
            fields.pop("max_tokens", None)
        return json.dumps(fields, sort_keys=True).encode()

    def _digest(self, body: bytes) -> str:
        return hashlib.sha256(self.endpoint.address.encode() + b"\n" + body).hexdigest()

    def _tries(self, body: bytes) -> Reply:
        for attempt in range(self.endpoint.retries + 1):
            if attempt:
                self.ledger.count("retries")
            try:
                return self._try(body)
            except _Again as again:
                failed = again
            if not failed.sensible:
                break
            if attempt < self.endpoint.retries:
                self._pause(attempt, failed.after_s)
        if not self._answered:
            self._stop(f"never had an answer from {self._whom()}; its last try: {failed.said}. Is the server up?")
        raise Unjudged(failed.reason)

    def _try(self, body: bytes) -> Reply:
        self.pace.wait()
        if self._stopped:
            raise RewardEndedError(self._stopped)
        prices, tokens_out = self.ledger.prices, self.endpoint.longest_reply
        most = prices.of(len(body), tokens_out)  # a token is at least one byte
        self.ledger.reserve(most)
        cost, used = most, (0, 0)  # a reply that is lost may have been billed
        try:
            response = self._post(body)
            cost = most if response.status == 200 else 0.0
            reply = self._read(response)
            used = reply.tokens_in, reply.tokens_out
            cost = prices.of(*used) if any(used) else most  # a server that does not tell is paid the most
            return reply
        except _Again as again:
            if isinstance(again.__cause__, ConnectionRefusedError | socket.gaierror):
                cost = 0.0  # it was not sent
            raise
        finally:
            self.ledger.settle(most, cost, tokens_in=used[0], tokens_out=used[1])

    def _post(self, body: bytes) -> Response:
        key = self.endpoint.key()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        try:
            response = self.server.post(body, headers)
        except TimeoutError as error:
            raise _Again("unjudged_timeout", str(error)) from error
        except ssl.SSLCertVerificationError as error:
            self._stop(f"cannot trust {self._whom()}: {error.verify_message}. Is its certificate in SSL_CERT_FILE?")
        except (OSError, http.client.HTTPException) as error:
            raise _Again("unjudged_connection", f"{type(error).__name__}: {error}") from error
        clean = response.body.replace(key.encode(), b"***") if key else response.body
        return Response(response.status, response.reason, response.headers, clean)

    def _read(self, response: Response) -> Reply:
        """The reply in a response, or what its status means."""
        status, said = response.status, f"{response.status} {response.reason}"
        if status == 200:
            reply = _reply(response.body)
            if reply is None:
                raise _Again("unjudged_malformed", f"a reply that is none: {_shown(response.body)}")
            self._answered = True
            return reply
        if status in _UNKNOWN or 300 <= status < 400 or b"insufficient_quota" in response.body:
            shown = "" if status in (401, 403) else f" {_shown(response.body)}"  # these may quote a part of the key
            self._stop(f"got {said} from {self._whom()}.{shown} {self._key_state()}")
        if status in _FOR_NOW or status >= 500:
            after_s = _retry_after(response.headers.get("retry-after", ""))
            raise _Again(f"unjudged_http_{status}", f"{said} {_shown(response.body)}", after_s)
        self._answered = True
        text = response.body.decode("utf-8", "replace")
        if status == 413 or _TOO_LONG.search(text):
            raise Unjudged("unjudged_too_long")
        if _FILTERED.search(text):
            raise Unjudged("unjudged_filtered")
        raise RewardError(f"got {said} from {self._whom()}: {_shown(response.body)}")

    def _pause(self, attempt: int, after_s: float | None) -> None:
        if after_s is not None:
            self.pace.hold(after_s)  # all requests, not only this one
            return  # its next try waits there
        longest = min(LONGEST_PAUSE_S, self.endpoint.backoff_s * 2.0**attempt)
        self.pace.sleep(longest * random.uniform(0.5, 1.0))

    def _stop(self, said: str) -> NoReturn:
        with self._lock:
            self._stopped = self._stopped or said
        raise RewardEndedError(said)

    def _whom(self) -> str:
        return f"{self.endpoint.address.partition('?')[0]} (model `{self.endpoint.model}`)"

    def _key_state(self) -> str:
        name = self.endpoint.key_env
        if name is None:
            return "judge.key_env is null, so that no key was sent."
        if not self.endpoint.key():
            return f"No key was sent: the environment variable {name} is not set, or not for this server."
        return f"The key is that of the environment variable {name}; check judge.url, judge.model and the key."


@dataclass
class _Again(Exception):  # noqa: N818  # what is to be done
    """A try that failed in a way that may pass."""

    reason: str
    said: str
    after_s: float | None = None  # as the server asks

    @property
    def sensible(self) -> bool:
        return self.after_s is None or self.after_s <= LONGEST_HOLD_S


def _reply(body: bytes) -> Reply | None:
    """What a body says; None for one that is no chat completion."""
    try:
        found = json.loads(body)
        choice = found["choices"][0]
        content = choice["message"].get("content") or ""
        usage = found.get("usage") or {}
        tokens = [int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
    if not isinstance(content, str):
        return None
    return Reply(
        content=content,
        finish_reason=str(choice.get("finish_reason")),
        tokens_in=max(tokens[0], 0),
        tokens_out=max(tokens[1], 0),
    )


def _retry_after(value: str) -> float | None:
    """Seconds, of a number or a date; None if there is neither."""
    try:
        return max(float(value), 0.0) if re.fullmatch(r"\s*[0-9.]+\s*", value) else _until(value)
    except (ValueError, TypeError):
        return None


def _until(date: str) -> float | None:
    when = parsedate_to_datetime(date) if date else None
    if when is None:
        return None
    return max((when - datetime.now(UTC)).total_seconds(), 0.0)


def _shown(body: bytes) -> str:
    text = " ".join(body[:2000].decode("utf-8", "replace").split())
    return repr(text[:300])
