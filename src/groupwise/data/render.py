"""Prompts and responses to token ids: the ids that generation sees, and which of a response's are trained."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from groupwise.candidates import Completion, Group
from groupwise.data.messages import Text
from groupwise.data.rows import Record
from groupwise.data.template import ChatTemplate
from groupwise.errors import ConfigError, DataError, ModelError

Pieces = list[tuple[list[int], bool]]  # token ids, and whether they are trained


class Renderer:
    """Renders with the tokenizer's chat template, or as plain text where it has none or `chat` is False.

    A prompt's ids are those that generation starts from. A response is tokenised on its own, never decoded and
    encoded again, and closes with an end token, which is trained whatever the padding token is. `end_ids` are the
    tokens that end a response: the tokenizer's end of text, the template's end of turn, and those given (a model's
    generation configuration has some). `system` is put before prompts that have no system message of their own.

    Nothing is cut unless `truncate`: then prompts lose their beginning (not a BOS token) and responses their end,
    with the end token, since they do not stop there; `truncated` counts both. `unknown` counts the prompts and
    responses with characters that the tokenizer has only its unknown token for: they are trained as that token.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        max_prompt_tokens: int | None = None,
        max_response_tokens: int | None = None,
        truncate: bool = False,
        chat: bool | None = None,
        system: str | None = None,
        end_ids: Collection[int] = (),
    ) -> None:
        if tokenizer.eos_token_id is None:
            raise ModelError("the tokenizer has no end-of-text token: set tokenizer.eos_token and save it")
        self.tokenizer, self.truncate, self.system = tokenizer, truncate, system
        self.max_prompt_tokens, self.max_response_tokens = max_prompt_tokens, max_response_tokens
        self.truncated = self.unknown = 0
        _check_limits(max_prompt_tokens, max_response_tokens, truncate)
        self.template = _template(tokenizer, chat, system)
        turn = {self.template.end_of_turn} if self.template else set()
        self.end_ids = frozenset({tokenizer.eos_token_id, *turn, *end_ids} - {None})

    @property
    def chat(self) -> bool:
        """Whether the chat template is in use."""
        return self.template is not None

    def prompt_ids(self, prompt: Text, origin: str = "") -> tuple[int, ...]:
        """The tokens that a response follows. Raises DataError over `max_prompt_tokens`, unless it is to be cut."""
        if self.template and prompt:
            ids = self._ids(self.template.text(self._messages(prompt), generate=True, origin=origin))
        else:
            ids = self._plain_prompt(prompt, origin)
        limit = self.max_prompt_tokens
        if limit is not None and len(ids) > limit:
            self._too_long("prompt", len(ids), limit, origin)
            kept = 1 if ids[0] == self.tokenizer.bos_token_id and limit > 1 else 0
            ids = ids[:kept] + ids[len(ids) - limit + kept :]
        self._count_unknown(ids)
        return tuple(ids)

    def completion(
        self, prompt: Text, response: Text, *, score: float | None, confidence: float | None = None, origin: str = ""
    ) -> Completion:
        """A given response with its end token; of several turns only the assistant's are trained.

        Raises DataError for a response that has no tokens, that an end token cuts in two, or that is over
        `max_response_tokens`; ModelError where the template gives a response other tokens than generation would.
        """
        if self.template and prompt:
            pieces = self._turns(self.template, self._messages(prompt), response, origin)
        else:
            pieces = [(self._plain_response(prompt, response, origin), True)]
        ids = [i for piece, _ in pieces for i in piece]
        trained = [flag for piece, flag in pieces for _ in piece]
        limit = self.max_response_tokens
        if limit is not None and len(ids) > limit:
            self._too_long("response", len(ids), limit, origin)
            ids, trained = ids[:limit], trained[:limit]
        self._count_unknown(ids)
        text = response if isinstance(response, str) else "\n".join(str(turn["content"]) for turn in response)
        return Completion(
            token_ids=tuple(ids),
            text=text,
            score=score,
            confidence=confidence,
            trained=None if all(trained) else tuple(trained),
        )

    def group(self, record: Record) -> Group:
        """A record as a group: its prompt and its scored responses."""
        said: dict[str, Any] = {"confidence": record.confidence, "origin": record.origin}
        scored = zip(record.responses, record.scores, strict=True)
        return Group(
            prompt_ids=self.prompt_ids(record.prompt, record.origin),
            completions=tuple(self.completion(record.prompt, r, score=s, **said) for r, s in scored),
            prompt=record.prompt,
            row=record.row,
            origin=record.origin,
        )

    def _messages(self, prompt: Text) -> list[Mapping[str, Any]]:
        messages: list[Mapping[str, Any]] = list(prompt) if not isinstance(prompt, str) else []
        messages = messages or [{"role": "user", "content": prompt}]
        if self.system is not None and messages[0]["role"] != "system":
            return [{"role": "system", "content": self.system}, *messages]
        return messages

    def _turns(
        self, template: ChatTemplate, messages: Sequence[Mapping[str, Any]], response: Text, origin: str
    ) -> Pieces:
        turns = [{"role": "assistant", "content": response}] if isinstance(response, str) else list(response)
        if not turns or {turns[0]["role"], turns[-1]["role"]} != {"assistant"}:
            raise DataError(f"{origin}: a response's messages must start and end with role `assistant`")
        pieces: Pieces = []
        so_far = ""
        for i, turn in enumerate(turns):
            if turn["role"] != "assistant":
                continue
            before = template.text([*messages, *turns[:i]], generate=True, origin=origin)
            after = template.text([*messages, *turns[: i + 1]], generate=False, origin=origin)
            if pieces:
                pieces.append((self._ids(template.reply(so_far, before, origin)), False))
            ids = self._ids(template.reply(before, after, origin))
            said, rest = self._to_end(ids)
            several = sum(i in self.end_ids for i in ids) > 1
            self._check_response(said, self._ids(turn["content"]) if several else [], turn["content"], origin)
            pieces += [(said, True), (rest, False)]
            so_far = after
        (last, _), _ = pieces[-2:]  # what follows the last end token is never generated
        closed = last if last[-1] in self.end_ids else [*last, self.tokenizer.eos_token_id]
        return [*pieces[:-2], (closed, True)]

    def _to_end(self, ids: list[int]) -> tuple[list[int], list[int]]:
        """Up to and with the first end token, and what follows it."""
        cut = next((at + 1 for at, i in enumerate(ids) if i in self.end_ids), len(ids))
        return ids[:cut], ids[cut:]

    def _check_response(self, ids: list[int], content: list[int], text: str, origin: str) -> None:
        """Raise for a response without tokens, or one that would be cut because its own text holds an end token."""
        if not ids or (ids[0] in self.end_ids and text):
            raise DataError(f"{origin}: the response {text[:40]!r} has no tokens in this tokenizer: remove the row")
        inside = next((i for i in content[:-1] if i in self.end_ids), None)
        if inside is not None:
            token = self.tokenizer.convert_ids_to_tokens(inside)
            raise DataError(
                f"{origin}: the response {text[:40]!r} holds the end token `{token}` before its end, where generation "
                "would stop: remove it from the text"
            )

    def _plain_prompt(self, prompt: Text, origin: str) -> list[int]:
        if not isinstance(prompt, str):
            raise DataError(
                f"{origin}: the prompt is a list of chat messages and no chat template is in use: "
                "give plain text, or a tokenizer with a chat template"
            )
        if not prompt and self.system is not None:
            raise DataError(f"{origin}: data.system has no effect on a row of plain `text`: leave it out")
        end, begin = self.tokenizer.eos_token_id, self.tokenizer.bos_token_id
        ids: list[int] = list(self.tokenizer(prompt)["input_ids"])
        if ids and ids[-1] == end and self._ids(prompt)[-1:] != [end]:
            ids.pop()  # some tokenizers end every text
        if prompt and not self._ids(prompt):
            raise DataError(f"{origin}: the prompt {prompt[:40]!r} has no tokens in this tokenizer: remove the row")
        return ids or [end if begin is None else begin]  # a text alone follows what separates texts

    def _plain_response(self, prompt: Text, response: Text, origin: str) -> list[int]:
        if not isinstance(response, str):
            if len(response) != 1:
                raise DataError(f"{origin}: a response of several messages needs a chat template")
            response = str(response[0]["content"])
        ids = self._ids(response)
        if prompt:  # a text alone may hold whole conversations with their end tokens
            self._check_response(ids, ids, response, origin)
        elif ids[:1] == [self.tokenizer.bos_token_id]:
            del ids[0]  # the prompt is a BOS already
        return ids if ids and ids[-1] in self.end_ids else [*ids, self.tokenizer.eos_token_id]

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _count_unknown(self, ids: Sequence[int]) -> None:
        unknown = self.tokenizer.unk_token_id  # some tokenizers name another token of theirs so, and never need it
        if unknown is not None and unknown not in {*self.end_ids, self.tokenizer.bos_token_id}:
            self.unknown += unknown in ids

    def _too_long(self, what: str, tokens: int, limit: int, origin: str) -> None:
        if not self.truncate:
            raise DataError(
                f"{origin}: the {what} has {tokens} tokens, data.max_{what}_tokens is {limit}: "
                "raise it, or set data.truncate: true to cut"
            )
        self.truncated += 1


def _check_limits(prompt: int | None, response: int | None, truncate: bool) -> None:
    for name, limit in (("max_prompt_tokens", prompt), ("max_response_tokens", response)):
        if limit is not None and limit < 1:
            raise ConfigError(f"{name} = {limit}, must be 1 or more, or left out")
    if truncate and prompt is None and response is None:
        raise ConfigError("truncate = true has no effect without max_prompt_tokens or max_response_tokens")


def _template(tokenizer: Any, chat: bool | None, system: str | None) -> ChatTemplate | None:
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if chat and not has_template:
        raise ModelError("data.chat = true, but the tokenizer has no chat template: set one, or leave chat out")
    if chat is False or not has_template:
        if system is not None:
            raise ModelError("data.system needs a chat template: the tokenizer has none, or data.chat is false")
        return None
    return ChatTemplate(tokenizer)
