"""Where the judge is asked, and on which terms: the settings of every reward that asks a server."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from groupwise.errors import ConfigError
from groupwise.rewards.judging.connection import is_local

OPENAI = "OPENAI_API_KEY"
_OWN_FIELDS = ("model", "messages", "stream", "n", "temperature", "max_tokens")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A server's address, its model, how it samples, and what may be asked of it."""

    url: str  # such as https://api.openai.com/v1 or http://localhost:8000/v1; /chat/completions is added
    model: str  # as the server calls it
    key_env: str | None = OPENAI  # the NAME of the environment variable that holds the key; null: none is sent
    temperature: float | None = 0.0  # null: the server's own
    max_tokens: int | None = 512  # of a reply; null: the server's own limit
    extra: Mapping[str, Any] = field(default_factory=dict)  # more fields of a request, such as seed: 1
    timeout_s: float = 60.0  # of one request, from connecting to the reply's last byte
    retries: int = 5  # after a refusal for now (429, 5xx), a lost connection, a time-out, a broken reply
    backoff_s: float = 1.0  # the first pause before a retry; doubled each time, up to 60 s, less up to a half by chance
    rate: str | None = None  # at most so many requests: `5/s` or `300/min`
    concurrency: int = 8  # requests underway
    cache: str | None = None  # a folder where replies are kept; several runs may share it
    price_in: float = 0.0  # of a million tokens of prompts
    price_out: float = 0.0  # of a million tokens of replies
    budget: float | None = None  # what may be spent, in the currency of the prices; null: no limit
    budget_requests: int | None = None  # requests that may be sent, retries included; null: no limit

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # a port that is none
            fine = False
        if not fine:
            shown = self.url.rpartition("@")[2]  # what stands before may be a password
            raise ConfigError(f"judge.url = {shown!r}, must be like https://api.openai.com/v1")
        if "@" in parts.netloc or re.search(r"key|token|secret|sig|pass", parts.query, re.IGNORECASE):
            raise ConfigError(
                f"judge.url for {parts.hostname} holds a user or a key, which would be written to the run's files: "
                "put the key into an environment variable and name that in judge.key_env"
            )
        if self.key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", self.key_env):
            raise ConfigError(
                "judge.key_env is no name of an environment variable (it is not shown, in case it is the key itself): "
                f"give the name of the variable that holds the key, such as {OPENAI}"
            )
        if not self.model:
            raise ConfigError("judge.model is empty: give the name by which the server knows the model")
        if own := [name for name in _OWN_FIELDS if name in self.extra]:
            raise ConfigError(f"judge.extra holds `{own[0]}`, which has a setting of its own or cannot be changed")
        self._check_numbers()

    def _check_numbers(self) -> None:
        rules = {"retries": 0, "backoff_s": 0, "price_in": 0, "price_out": 0, "concurrency": 1}
        for name, least in {**rules, "temperature": 0, "max_tokens": 1, "budget": 0, "budget_requests": 0}.items():
            value = getattr(self, name)
            if not (value is None and name not in rules) and not value >= least:
                raise ConfigError(f"judge.{name} = {value}, must be {least} or more")
        if not self.timeout_s > 0:
            raise ConfigError(f"judge.timeout_s = {self.timeout_s}, must be above 0")
        if self.budget is not None and not (self.price_in or self.price_out):
            raise ConfigError(
                f"judge.budget = {self.budget}, but no prices: give judge.price_in and judge.price_out, or limit "
                "requests with judge.budget_requests"
            )
        _ = self.per_second

    @property
    def per_second(self) -> float | None:
        """The rate in requests a second."""
        if self.rate is None:
            return None
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*/\s*(s|min)\s*", self.rate)
        if not found or not float(found[1]) > 0:
            raise ConfigError(f"judge.rate = {self.rate!r}, must be like `5/s` or `300/min`")
        return float(found[1]) / (60 if found[2] == "min" else 1)

    @property
    def address(self) -> str:
        """The whole URL that is posted to."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        if not path.endswith("/chat/completions"):
            path = f"{path or '/v1'}/chat/completions"
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))

    @property
    def longest_reply(self) -> int:
        """Tokens that a reply can cost; 0 if there is no limit here."""
        named = self.extra.get("max_completion_tokens")
        return named if isinstance(named, int) else self.max_tokens or 0

    def key(self) -> str:
        """The key, read anew each time so that it lies in no object; empty if none is sent.

        The key of OpenAI goes over TLS or to this machine only: no other server on the network gets it by default.
        """
        parts = urlsplit(self.url)
        if self.key_env is None or (self.key_env == OPENAI and parts.scheme == "http" and not is_local(parts.hostname)):
            return ""
        found = os.environ.get(self.key_env, "").strip()
        if not re.fullmatch(r"[\x21-\x7e]*", found):
            raise ConfigError(
                f"the environment variable {self.key_env} holds blanks or signs that no key has: set it anew"
            )
        return found
