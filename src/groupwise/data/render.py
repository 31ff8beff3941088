"""Prompts and responses to token ids: the ids that generation sees, and which of a response's are trained."""

from collections.abc import Mapping, Sequence
from typing import Any

from groupwise.candidates import Completion, Group
from groupwise.data.messages import Text
from groupwise.data.rows import Record
from groupwise.errors import DataError, ModelError


class Renderer:
    """Renders with the tokenizer's chat template, or as plain text where it has none or `chat` is False.

    A prompt's ids are those that generation starts from; a response is tokenised on its own after them, ends
    with the end token, which is trained, and is never decoded and encoded again. `truncated` counts what was cut.
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
    ) -> None:
        if tokenizer.eos_token_id is None:
            raise ModelError("the tokenizer has no end-of-text token: set tokenizer.eos_token and save it")
        has_template = bool(getattr(tokenizer, "chat_template", None))
        if chat and not has_template:
            raise ModelError("data.chat = true, but the tokenizer has no chat template: set one, or leave chat out")
        self.tokenizer, self.truncate, self.system = tokenizer, truncate, system
        self.max_prompt_tokens, self.max_response_tokens = max_prompt_tokens, max_response_tokens
        self.chat = has_template if chat is None else chat
        self.truncated = 0
        if system is not None and not self.chat:
            raise ModelError("data.system needs a chat template: the tokenizer has none, or data.chat is false")

    def prompt_ids(self, prompt: Text, origin: str = "") -> tuple[int, ...]:
        """The tokens that a response follows, cut from the left if that was asked for."""
        ids = self._ids(self._prompt_text(self._messages(prompt))) if self.chat else self._plain_prompt(prompt, origin)
        limit = self.max_prompt_tokens
        if limit is not None and len(ids) > limit:
            self._too_long("prompt", len(ids), limit, origin)
            ids = ids[-limit:]
        return tuple(ids)

    def completion(self, prompt: Text, response: Text, *, score: float | None, origin: str = "") -> Completion:
        """A given response with its end token; of several turns only the assistant's are trained."""
        pieces = (
            self._turns(prompt, response, origin) if self.chat else [(self._plain_response(response, origin), True)]
        )
        ids = [i for piece, _ in pieces for i in piece]
        trained = [flag for piece, flag in pieces for _ in piece]
        limit = self.max_response_tokens
        if limit is not None and len(ids) > limit:
            self._too_long("response", len(ids), limit, origin)
            ids, trained = ids[:limit], trained[:limit]
        if not any(trained):
            raise DataError(f"{origin}: within {limit} tokens no token of the response is trained: raise the limit")
        text = response if isinstance(response, str) else "\n".join(str(m["content"]) for m in response)
        return Completion(
            token_ids=tuple(ids), text=text, score=score, trained=None if all(trained) else tuple(trained)
        )

    def group(self, record: Record) -> Group:
        """A record as a group."""
        scored = zip(record.responses, record.scores, strict=True)
        return Group(
            prompt_ids=self.prompt_ids(record.prompt, record.origin),
            completions=tuple(self.completion(record.prompt, r, score=s, origin=record.origin) for r, s in scored),
            prompt=record.prompt,
            row=record.row,
            origin=record.origin,
        )

    def _messages(self, prompt: Text) -> list[Mapping[str, Any]]:
        messages: list[Mapping[str, Any]] = list(prompt) if not isinstance(prompt, str) else []
        if isinstance(prompt, str):
            messages = [{"role": "user", "content": prompt}]
        if self.system is not None and (not messages or messages[0]["role"] != "system"):
            return [{"role": "system", "content": self.system}, *messages]
        return messages

    def _template(self, messages: Sequence[Mapping[str, Any]], *, generate: bool) -> str:
        try:
            text: str = self.tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=generate
            )
        except Exception as error:  # a template is a program of the model's author, and may raise anything
            raise ModelError(
                f"the chat template refuses these messages ({error}): mend them, or set chat: false"
            ) from error
        return text

    def _prompt_text(self, messages: Sequence[Mapping[str, Any]]) -> str:
        text = self._template(messages, generate=True)
        if text == self._template(messages, generate=False):
            raise ModelError(
                "the chat template adds no generation prompt, so a response has no place to begin: "
                "use a template that honours add_generation_prompt, or set chat: false"
            )
        return text

    def _turns(self, prompt: Text, response: Text, origin: str) -> list[tuple[list[int], bool]]:
        """Token pieces of the response's turns, and whether each is trained."""
        messages = self._messages(prompt)
        turns = [{"role": "assistant", "content": response}] if isinstance(response, str) else list(response)
        pieces: list[tuple[list[int], bool]] = []
        so_far = self._prompt_text(messages)
        for turn in turns:
            if turn["role"] == "assistant" and pieces:
                start = self._prompt_text(messages)
                pieces.append((self._ids(self._rest(start, so_far, origin)), False))
                so_far = start
            messages = [*messages, turn]
            if turn["role"] != "assistant":
                continue
            text = self._template(messages, generate=False)
            ids, after = self._to_end(self._ids(self._rest(text, so_far, origin)))
            pieces += [(ids, True), (after, False)]
            so_far = text
        return pieces[:-1]  # what follows the last end token is never generated

    def _rest(self, text: str, start: str, origin: str) -> str:
        if not text.startswith(start):
            raise ModelError(
                f"{origin}: the chat template rewrites what stands before a response once it is there, so its tokens "
                "would not be those of generation: mend the template, or set chat: false"
            )
        return text[len(start) :]

    def _to_end(self, ids: list[int]) -> tuple[list[int], list[int]]:
        """Up to and with the end token, and what follows; the end token is added where the template has none."""
        end = self.tokenizer.eos_token_id
        if end not in ids:
            return [*ids, end], []
        last = len(ids) - ids[::-1].index(end)
        return ids[:last], ids[last:]

    def _plain_prompt(self, prompt: Text, origin: str) -> list[int]:
        if not isinstance(prompt, str):
            raise DataError(
                f"{origin}: the prompt is a list of chat messages and no chat template is in use: "
                "give plain text, or a tokenizer with a chat template"
            )
        ids: list[int] = list(self.tokenizer(prompt)["input_ids"])
        if ids and ids[-1] == self.tokenizer.eos_token_id:
            ids.pop()  # some tokenizers end every text
        start = self.tokenizer.bos_token_id
        return ids or [self.tokenizer.eos_token_id if start is None else start]

    def _plain_response(self, response: Text, origin: str) -> list[int]:
        if not isinstance(response, str):
            if len(response) != 1:
                raise DataError(f"{origin}: a response of several messages needs a chat template")
            response = str(response[0]["content"])
        return [*self._ids(response), self.tokenizer.eos_token_id]

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _too_long(self, what: str, tokens: int, limit: int, origin: str) -> None:
        if not self.truncate:
            raise DataError(
                f"{origin}: the {what} has {tokens} tokens, data.max_{what}_tokens is {limit}: "
                "raise it, or set data.truncate: true to cut"
            )
        self.truncated += 1
