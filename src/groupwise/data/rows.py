"""One data row to one `Record`: which kind it is, its prompt, responses and scores."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from groupwise.data.columns import Found
from groupwise.data.messages import (
    Messages,
    Text,
    check_prompt,
    read_messages,
    read_response,
    read_string,
    shared_prompt,
    shown,
    split_conversation,
)
from groupwise.errors import DataError

Kind = Literal["demonstration", "pair", "thumb", "candidates", "prompt"]

_TEXT_IN = ("text", "content", "response", "completion", "answer", "output")
_SCORE_IN = ("score", "rating", "reward", "overall_score")
LARGEST = 3.4028234e38  # scores are computed with in float32
_TURN = "\n\nAssistant:"  # of transcripts kept as text
_FINAL_ANSWER = re.compile(r"(?:^|\n)####[ \t]*(\S.*?)\s*\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One checked data row: a prompt, its responses, and what is known of how good they are."""

    kind: Kind
    prompt: Text  # plain text, or chat messages; empty only for a `text` row
    responses: tuple[Text, ...]  # text, or the messages that follow the prompt
    scores: tuple[float | None, ...]  # higher is better; None: could not be judged
    row: Mapping[str, Any]  # the whole row, for rewards; `answer` is filled in from the answer's column
    origin: str  # "pairs.jsonl:17"
    confidence: float | None = None  # probability that the preference or label is right; None: not said
    annotator: str | None = None  # who judged, where several did


def read_row(row: object, origin: str, columns: Mapping[str, str], kind: Kind | None) -> Record:
    """The row as a record; DataError (without the origin) says what is wrong with it."""
    if not isinstance(row, Mapping):
        raise DataError(f"is {shown(row)}: every row must be an object with named columns")
    found = Found(row, columns)
    read = _read(found, kind)
    judged = read[0] in ("pair", "thumb", "candidates")
    record = Record(
        kind=read[0],
        prompt=read[1],
        responses=read[2],
        scores=read[3],
        row=_with_answer(found),
        origin=origin,
        confidence=_confidence(found) if judged else None,
        annotator=_annotator(found) if judged else None,
    )
    return record if kind is None else _as_kind(record, kind, found)


Read = tuple[Kind, Text, tuple[Text, ...], tuple[float | None, ...]]


def _read(found: Found, kind: Kind | None) -> Read:
    if "chosen" in found and "rejected" in found:
        return _pair(found)
    if kind != "prompt" and ("chosen" in found or "rejected" in found):
        raise found.missing("a pair needs both `chosen` and `rejected`")
    if "responses" in found:
        return _candidates(found)
    if "messages" in found and "prompt" not in found:
        return _conversation(found)
    if "prompt" in found and "response" in found:
        response = read_response(found.value("response"), found.column("response"))
        return _judged(found, _prompt(found), response)
    if "prompt" in found and "answer" in found and kind == "demonstration":
        return "demonstration", _prompt(found), (read_response(found.value("answer"), found.column("answer")),), (1.0,)
    if "prompt" in found:
        return "prompt", _prompt(found), (), ()
    if "text" in found:
        return "demonstration", "", (read_string(found.value("text"), found.column("text")),), (1.0,)
    raise found.missing("none of them is a prompt, a conversation or a text")


def _prompt(found: Found) -> Text:
    field, value = found.column("prompt"), found.value("prompt")
    if isinstance(value, str) or not isinstance(value, list | tuple | Mapping):
        text = read_string(value, field)
        if found.has_input():
            text = f"{text}\n\n{read_string(found.value('input'), found.column('input'))}"
        return _with_system(({"role": "user", "content": text},), found) if _system(found) else text
    return _with_system(check_prompt(read_messages(value, field), field), found)


def _system(found: Found) -> bool:
    return "system" in found and found.value("system") != ""


def _with_system(messages: Messages, found: Found) -> Messages:
    if not _system(found) or messages[0]["role"] == "system":
        return messages
    return ({"role": "system", "content": read_string(found.value("system"), found.column("system"))}, *messages)


def _conversation(found: Found) -> Read:
    field = found.column("messages")
    messages = _with_system(read_messages(found.value("messages"), field), found)
    if messages[-1]["role"] != "assistant" and "label" not in found:
        return "prompt", check_prompt(messages, field), (), ()
    prompt, response = split_conversation(messages, field)
    if "label" in found:  # it judges the last turn
        prompt, response = check_prompt(messages[:-1], field), messages[-1:]
    return _judged(found, prompt, response)


def _judged(found: Found, prompt: Text, response: Text) -> Read:
    """A demonstration, or with a label a group of one that is good (1) or bad (0)."""
    if "label" not in found:
        return "demonstration", prompt, (response,), (1.0,)
    label = found.value("label")
    if not isinstance(label, bool | int) or label not in (0, 1):
        raise DataError(
            f"`{found.column('label')}` is {shown(label)}: a label is true (good) or false (bad), or 1 or 0"
        )
    return "thumb", prompt, (response,), (float(label),)


def _confidence(found: Found) -> float | None:
    if "confidence" not in found:
        return None
    value = found.value("confidence")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.5 < value <= 1:
        raise DataError(
            f"`{found.column('confidence')}` is {shown(value)}: must be the probability that the row's preference or "
            "label is right, above 0.5 and at most 1; correct it, turn the row round, or rename the column"
        )
    return float(value)


def _annotator(found: Found) -> str | None:
    if "annotator" not in found:
        return None
    value = found.value("annotator")
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise DataError(f"`{found.column('annotator')}` is {shown(value)}: must be a name or a number; correct the row")
    return str(value)


def _pair(found: Found) -> Read:
    sides = [_side(found, role) for role in ("chosen", "rejected")]
    chosen, rejected = sides
    if _same(chosen, rejected):
        raise DataError(
            f"`{found.column('chosen')}` equals `{found.column('rejected')}` ({shown(found.value('chosen'))}): "
            "a pair needs a better and a worse response; remove the row"
        )
    whole = [not isinstance(side, str) and side[0]["role"] != "assistant" for side in sides]
    if whole[0] != whole[1]:
        raise DataError("one of `chosen` and `rejected` is a whole conversation, the other a reply: make both the same")
    prompt: Text
    if whole[0]:
        assert not isinstance(chosen, str)
        assert not isinstance(rejected, str)
        length = shared_prompt(chosen, rejected)
        prompt = check_prompt(chosen[:length], found.column("chosen"))
        _check_agreement(found, prompt)
        prompt, chosen, rejected = _with_system(prompt, found), chosen[length:], rejected[length:]
    elif "prompt" in found:
        prompt = _prompt(found)
    elif "messages" in found:
        field = found.column("messages")
        prompt = check_prompt(_with_system(read_messages(found.value("messages"), field), found), field)
    elif isinstance(chosen, str) and isinstance(rejected, str):
        prompt, chosen, rejected = _transcripts(found, chosen, rejected)
    else:
        raise found.missing("a pair of replies needs a prompt column")
    return (
        "pair",
        prompt,
        tuple(read_response(side, role) for side, role in ((chosen, "chosen"), (rejected, "rejected"))),
        (1.0, 0.0),
    )


def _side(found: Found, role: str) -> Text:
    field, value = found.column(role), found.value(role)
    return read_messages(value, field) if isinstance(value, list | tuple | Mapping) else read_string(value, field)


def _same(chosen: Text, rejected: Text) -> bool:
    def key(side: Text) -> list[tuple[str, str, str]]:
        turns = ({"role": "assistant", "content": side},) if isinstance(side, str) else side
        return [(turn["role"], turn["content"].strip(), str(turn.get("tool_calls"))) for turn in turns]

    return key(chosen) == key(rejected)


def _check_agreement(found: Found, prompt: Messages) -> None:
    """A text prompt beside whole conversations must be one of their turns: else it would be lost."""
    text = found.value("prompt") if "prompt" in found else None
    if isinstance(text, str) and text.strip() not in [turn["content"].strip() for turn in prompt]:
        raise DataError(
            f"`{found.column('prompt')}` is {shown(text)}, which is no turn of the conversations in `chosen` and "
            "`rejected`: correct the row, or remove the prompt column"
        )


def _transcripts(found: Found, chosen: str, rejected: str) -> tuple[str, str, str]:
    """The prompt two text transcripts share: up to the last `Assistant:` before they part."""
    parted = next((i for i, (a, b) in enumerate(zip(chosen, rejected, strict=False)) if a != b), None)
    cut = chosen.rfind(_TURN, 0, parted)
    if cut < 0:
        raise found.missing(
            "a pair needs a prompt column, or transcripts that share a `Human:` ... `Assistant:` beginning"
        )
    cut += len(_TURN)
    return read_string(chosen[:cut], "chosen"), chosen[cut:], rejected[cut:]


def _candidates(found: Found) -> Read:
    field, items = found.column("responses"), found.value("responses")
    if not isinstance(items, list | tuple) or not items:
        raise DataError(f"`{field}` is {shown(items)}: must be a list of at least one response")
    if "prompt" not in found and "messages" not in found:
        raise found.missing("candidates need a prompt column")
    prompt = _prompt(found) if "prompt" in found else _conversation(found)[1]
    if all(isinstance(item, Mapping) and "role" not in item and "from" not in item for item in items):
        texts, marks, by_rank, marks_field = _objects(list(items), field)
    else:
        texts = list(items)
        role = "scores" if "scores" in found else "ranks"
        if role not in found:
            raise found.missing(f"`{field}` needs a list of `scores` or `ranks` beside it")
        marks, by_rank, marks_field = found.value(role), role == "ranks", found.column(role)
    if not isinstance(marks, list | tuple) or len(marks) != len(texts):
        raise DataError(
            f"`{marks_field}` is {shown(marks)}: must be a list of {len(texts)} numbers, one for each response"
        )
    responses = tuple(read_response(text, f"{field}[{i}]") for i, text in enumerate(texts))
    scores = [_number(mark, f"{marks_field}[{i}]") for i, mark in enumerate(marks)]
    return "candidates", prompt, responses, tuple(_from_ranks(scores, marks_field) if by_rank else scores)


def _objects(items: Sequence[Mapping[str, Any]], field: str) -> tuple[list[Any], list[Any], bool, str]:
    """The texts and marks of candidates given as objects, and whether the marks are ranks."""
    texts = []
    for i, item in enumerate(items):
        name = next((name for name in _TEXT_IN if item.get(name) is not None), None)
        if name is None:
            raise DataError(f"`{field}[{i}]` is {shown(item)}: has none of {', '.join(_TEXT_IN)}")
        texts.append(item[name])
    mark = next((name for name in (*_SCORE_IN, "rank") if all(name in item for item in items)), None)
    if mark is None:
        raise DataError(f"`{field}`: every candidate must have the same one of {', '.join(_SCORE_IN)}, rank")
    return texts, [item[mark] for item in items], mark == "rank", f"{field}[].{mark}"


def _number(value: object, field: str) -> float | None:
    if value is None:
        return None
    # NaN compares false to everything
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise DataError(
            f"`{field}` is {shown(value)}: must be a finite number of float32, or null if it could not be judged"
        )
    return float(value)


def _from_ranks(ranks: list[float | None], field: str) -> list[float | None]:
    """Rank 1 is best: the score is the number of candidates minus the rank."""
    for i, rank in enumerate(ranks):
        if rank is not None and not 1 <= rank <= len(ranks):
            raise DataError(
                f"`{field}` has {rank:g} at {i}: ranks go from 1 (best) to {len(ranks)}, the number of responses"
            )
    return [None if rank is None else len(ranks) - rank for rank in ranks]


def _with_answer(found: Found) -> Mapping[str, Any]:
    """The row with `answer`; of a worked solution that ends in `#### 18` it is the 18, the whole `answer_text`."""
    if "answer" not in found:
        return found.row
    value = found.value("answer")
    final = _FINAL_ANSWER.search(value) if isinstance(value, str) else None
    if final:
        return {**found.row, "answer": final[1], "answer_text": value}
    return {**found.row, "answer": value}


def _as_kind(record: Record, kind: Kind, found: Found) -> Record:
    """The record read as the kind asked for, where it holds what that needs."""
    if record.kind == kind:
        return record
    if kind == "prompt" and record.prompt:
        return replace(record, kind=kind, responses=(), scores=(), confidence=None, annotator=None)
    if kind == "candidates" and record.kind in ("pair", "thumb"):
        return replace(record, kind=kind)
    judged = sorted((score, -i) for i, score in enumerate(record.scores) if score is not None)
    if (
        kind == "pair"
        and record.kind == "candidates"
        and len(record.scores) == len(judged) == 2
        and judged[0][0] < judged[-1][0]
    ):
        better, worse = -judged[-1][1], -judged[0][1]
        return replace(
            record, kind=kind, responses=(record.responses[better], record.responses[worse]), scores=(1.0, 0.0)
        )
    if kind == "demonstration" and judged:
        score, place = judged[-1]
        if len(record.scores) == 1 and score <= 0:
            raise DataError(f"its response is marked bad ({score:g}) and cannot be a demonstration: remove the row")
        best = record.responses[-place]
        return replace(record, kind=kind, responses=(best,), scores=(1.0,), confidence=None, annotator=None)
    raise found.missing(f"a row like this is of kind `{record.kind}` and cannot be read as `{kind}`")
