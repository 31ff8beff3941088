"""A tokenizer's chat template: checked once, then asked for text."""

from collections.abc import Mapping, Sequence
from typing import Any

from groupwise.errors import DataError, ModelError

_QUESTION = "What is asked here?"
_REPLY = "What is answered here."


class ChatTemplate:
    """Messages to text. Raises ModelError for a template that gives a response no place to begin.

    `end_of_turn` is the id of the token that closes an assistant turn, None if no single token does.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        question, reply = {"role": "user", "content": _QUESTION}, {"role": "assistant", "content": _REPLY}
        try:
            prompt = self.text([question], generate=True)
            without = self.text([question], generate=False)
            whole = self.text([question, reply], generate=False)
        except DataError as error:
            raise ModelError(f"{error}; it must render a user turn and its reply") from error
        head, found, tail = whole.rpartition(_REPLY)
        if not found:
            raise ModelError("the chat template leaves out what the assistant says: correct it, or set chat: false")
        # [INST] ... [/INST] needs no cue of its own: the end of the user's turn is one.
        has_cue = head.strip() == prompt.strip() and not prompt.rstrip().endswith(_QUESTION)
        if prompt == without and not has_cue:
            raise ModelError(
                "the chat template has no generation prompt (add_generation_prompt changes nothing), so a response has "
                "no place to begin: use a template that honours add_generation_prompt, or set chat: false"
            )
        self.end_of_turn = self._end_of_turn(tail)

    def _end_of_turn(self, tail: str) -> int | None:
        tokenizer = self._tokenizer
        marks = {*tokenizer.added_tokens_decoder, *tokenizer.all_special_ids} - {tokenizer.unk_token_id}
        ids: list[int] = tokenizer(tail, add_special_tokens=False)["input_ids"]
        return next((i for i in ids if i in marks), None)

    def text(self, messages: Sequence[Mapping[str, Any]], *, generate: bool, origin: str = "") -> str:
        """The conversation as text, with the cue for an assistant turn if `generate`; DataError if refused."""
        conversation = [dict(message) for message in messages]
        try:
            text: str = self._tokenizer.apply_chat_template(
                conversation, tokenize=False, add_generation_prompt=generate
            )
        except Exception as error:  # a template is its author's program and may raise anything
            where = f"{origin}: " if origin else ""
            raise DataError(
                f"{where}the chat template refuses these messages ({error}): correct them, or set chat: false"
            ) from error
        return text

    def reply(self, before: str, after: str, origin: str) -> str:
        """What `after` adds to `before`; ModelError if it does not continue it."""
        if after.startswith(before):
            return after[len(before) :]
        at = next(
            (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
        )
        raise ModelError(
            f"{origin or 'a response'}: the chat template rewrites what stands before a response once it is there "
            f"(at character {at} {before[at : at + 30]!r} becomes {after[at : at + 30]!r}), so its tokens would not be "
            "those of generation: correct the template, or set chat: false"
        )
