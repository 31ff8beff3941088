"""Texts and chat messages as they stand in data: checked, and brought to one form."""

import json
from collections.abc import Mapping
from typing import Any

from groupwise.errors import DataError, did_you_mean

Messages = tuple[Mapping[str, Any], ...]
Text = str | Messages

ROLES = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "model": "assistant",
    "tool": "tool",
}


def shown(value: object) -> str:
    """A value as an error message shows it: at most 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}...{text[-15:]}"


def identity(text: Text) -> str:
    """What two prompts or responses have in common exactly if they are the same."""
    return text if isinstance(text, str) else json.dumps(text, sort_keys=True, default=str)


def read_string(value: object, field: str) -> str:
    """A text that says something and can be encoded; else DataError."""
    if not isinstance(value, str):
        raise DataError(f"`{field}` is {shown(value)}: must be text")
    if not value.strip():
        raise DataError(f"`{field}` is empty ({shown(value)}): remove the row or fill it in")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise DataError(
            f"`{field}` holds half of a surrogate pair ({shown(value)}): not text; repair or remove the row"
        )
    return value


def read_messages(value: object, field: str) -> Messages:
    """A list of messages, or a single one, as `{"role", "content", ...}`.

    Reads `from`/`value` objects too, joins content given as text parts, and leaves out null entries, which
    columnar files add.
    """
    items = [value] if isinstance(value, Mapping) else value
    if not isinstance(items, list | tuple):
        raise DataError(f"`{field}` is {shown(value)}: must be a list of messages with `role` and `content`")
    if not items:
        raise DataError(f"`{field}` is an empty list: must hold at least one message")
    return tuple(_message(item, f"{field}[{i}]") for i, item in enumerate(items))


def _message(item: object, field: str) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise DataError(f"`{field}` is {shown(item)}: must be a message, an object with `role` and `content`")
    role, content = ("role", "content") if "role" in item else ("from", "value")
    if item.get(role) is None:
        raise DataError(f"`{field}` has no role: must be an object with `role` and `content` (or `from` and `value`)")
    if not isinstance(item[role], str) or item[role] not in ROLES:
        raise DataError(f"`{field}.{role}` is {shown(item[role])}: not a role.{did_you_mean(str(item[role]), ROLES)}")
    rest = {key: value for key, value in item.items() if key not in (role, content) and value is not None}
    if rest.get("tool_calls") and not item.get(content):
        text = ""
    elif item.get(content) is None:
        raise DataError(f"`{field}` has no `{content}`: every message needs one; remove the message or fill it in")
    else:
        text = read_string(_joined(item[content], f"{field}.{content}"), f"{field}.{content}")
    return {"role": ROLES[item[role]], "content": text, **rest}


def _joined(content: object, field: str) -> object:
    if not isinstance(content, list | tuple):
        return content
    for part in content:
        if not isinstance(part, Mapping) or part.get("type") != "text":
            raise DataError(f"`{field}` has the part {shown(part)}: only parts of type `text` can be trained on")
    return "".join(str(part.get("text") or part.get("value") or "") for part in content)


def check_prompt(messages: Messages, field: str) -> Messages:
    """The same messages if a reply can follow them."""
    if messages[-1]["role"] not in ("user", "tool"):
        raise DataError(f"`{field}` ends with role `{messages[-1]['role']}`: a prompt must end with `user` or `tool`")
    return messages


def check_response(messages: Messages, field: str) -> Messages:
    """The same messages if they are a reply: from an assistant turn to an assistant turn."""
    for where, message in (("starts", messages[0]), ("ends", messages[-1])):
        if message["role"] != "assistant":
            raise DataError(f"`{field}` {where} with role `{message['role']}`: a response must be `assistant` there")
    return messages


def read_response(value: object, field: str) -> Text:
    """A response as text, or as the messages that follow the prompt."""
    if isinstance(value, str) or not isinstance(value, list | tuple | Mapping):
        return read_string(value, field)
    return check_response(read_messages(value, field), field)


def split_conversation(messages: Messages, field: str) -> tuple[Messages, Messages]:
    """What precedes the first assistant turn, and the rest: all assistant turns are trained."""
    first = next((i for i, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
    if first == 0:
        raise DataError(f"`{field}` starts with role `assistant`: the prompt would be empty; begin with a `user` turn")
    response = messages[first:]
    return check_prompt(messages[:first], field), check_response(response, field)


def shared_prompt(chosen: Messages, rejected: Messages) -> int:
    """How many first messages of two whole conversations are their prompt: up to where an assistant turn differs."""
    shorter = min(len(chosen), len(rejected))
    parted = next((i for i in range(shorter) if chosen[i] != rejected[i]), shorter)
    if parted < shorter and {chosen[parted]["role"], rejected[parted]["role"]} != {"assistant"}:
        raise DataError(
            f"`chosen` and `rejected` first differ in message {parted}, which is not an assistant turn in both: "
            "the two conversations must share their prompt"
        )
    while parted == shorter or (parted > 0 and chosen[parted]["role"] != "assistant"):
        parted -= 1  # one conversation continues the other: the last turn they share is theirs, not the prompt's
    if parted == 0:
        raise DataError("`chosen` and `rejected` share no first message: the prompt would be empty")
    return parted
