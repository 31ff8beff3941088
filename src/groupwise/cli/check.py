"""`groupwise check FILE`."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from groupwise.advise.check import DataCheck, check
from groupwise.advise.compared import Found
from groupwise.advise.rendered import Example, Lengths
from groupwise.cli.data_settings import data_settings
from groupwise.cli.show import between, percent, print_json, say, table
from groupwise.data.records import scan_records
from groupwise.data.render import Renderer
from groupwise.errors import ConfigError
from groupwise.recipe import DataConfig

TAKES_SETTINGS = True
_WIDEST = 2000  # characters of a prompt or response that the example shows


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", help="a .jsonl, .json or .parquet file, a folder of them, or a hub data set")
    parser.add_argument("--model", help="count in this model's tokens and try its chat template")
    parser.add_argument("--max-prompt-tokens", type=int, help="count the prompts that are longer")
    parser.add_argument("--max-response-tokens", type=int, help="count the responses that are longer")
    parser.add_argument("--show", type=int, default=20, help="bad rows told in full (default 20)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.epilog = (
        "Settings as in a recipe's data section: --data.kind pair, --data.columns.prompt question, --data.chat false. "
        "The exit status is 1 if training would refuse the file."
    )


def run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print what the file holds; 1 if training would refuse it."""
    data = _settings(options, rest)
    assert data.path is not None
    scan = scan_records(data.path, columns=data.columns, kind=data.kind, limit=data.size, split=data.split)
    found = check(
        scan,
        renderer=_renderer(options.model, data),
        max_prompt_tokens=data.max_prompt_tokens,
        max_response_tokens=data.max_response_tokens,
        show=options.show,
    )
    if options.json:
        print_json(
            {"file": options.file, "model": options.model, "kind": found.kind, "sound": found.sound} | asdict(found)
        )
    else:
        _print(options.file, found)
    return 0 if found.sound else 1


def _settings(options: argparse.Namespace, rest: Sequence[str]) -> DataConfig:
    if options.show < 0:
        raise ConfigError(f"--show {options.show}: must be 0 or more")
    limits = ("max_prompt_tokens", "max_response_tokens")
    given = {name: value for name in limits if (value := getattr(options, name)) is not None}
    takes = ("chat", "columns", "kind", "size", "split", "system", *limits)
    data = data_settings(options.file, rest, takes=takes, **given)
    if options.model is None and (data.chat is not None or data.system is not None):
        raise ConfigError("--data.chat and --data.system have no effect without --model")
    return data


def _renderer(model: str | None, data: DataConfig) -> Renderer | None:
    if model is None:
        return None
    from groupwise.models.load import load_tokenizer, saved_end_token_ids
    from groupwise.models.quiet import quiet_libraries

    quiet_libraries()
    place = Path(model) if Path(model).is_dir() else model
    tokenizer = load_tokenizer(place)
    return Renderer(tokenizer, chat=data.chat, system=data.system, end_ids=saved_end_token_ids(place, tokenizer))


def _print(file: str, found: DataCheck) -> None:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.kinds.items()) or "none"
    say(f"{file}: {found.rows:,} rows: {kinds}{f', {found.bad_rows:,} bad' if found.bad_rows else ''}")
    for row in found.bad:
        say(f"  {row.origin}: {row.problem}")
    if found.bad_rows > len(found.bad):
        say(f"  and {found.bad_rows - len(found.bad):,} more bad rows")
    if len(found.kinds) > 1:
        say("  a data set must hold one kind of row: split the file, or force one reading with --data.kind")
    if not found.kinds:
        return
    _lengths(found)
    _findings(found)
    if found.example:
        _example(found.example)
    elif found.unit == "characters":
        say("Give --model to count tokens, try its chat template and see a row as the model does.")


def _lengths(found: DataCheck) -> None:
    sides = {"prompts": found.prompt_lengths, "responses": found.response_lengths}
    there = {name: its for name, its in sides.items() if its is not None}
    columns = [_length_column(its) for its in there.values()]
    rows = ([name, *(column[name] for column in columns)] for name in columns[0])
    table(f"lengths in {found.unit}", ("", *there), rows)


def _length_column(its: Lengths) -> dict[str, str]:
    over = "-" if its.share_over is None else f"{its.over:,} ({percent(its.share_over)})"
    return {
        "count": f"{its.count:,}",
        "mean": f"{its.mean:,.1f}",
        "shortest": f"{its.shortest:,}",
        "median": f"{its.median:,}",
        "90 %": f"{its.p90:,}",
        "99 %": f"{its.p99:,}",
        "longest": f"{its.longest:,}",
        "limit": "-" if its.limit is None else f"{its.limit:,}",
        "over the limit": over,
    }


def _findings(found: DataCheck) -> None:
    say(f"prompts: {found.prompts:,} distinct")
    if found.good is not None:
        say(f"labels: {found.good:,} good, {found.kinds['thumb'] - found.good:,} bad")
    if found.unjudged:
        say(f"unjudged: {found.unjudged:,} of {found.responses:,} responses have no score and are not trained on")
    if found.with_confidence:
        sound = found.with_confidence == sum(found.kinds.values())
        hint = "" if sound else ": give every row one (1 is certain), or none"
        say(f"confidence: in {found.with_confidence:,} rows{hint}")
    _say_found("duplicates", "rows are exactly earlier ones", found.duplicates)
    if found.ties.of_pairs and "candidates" in found.kinds:  # a pair cannot tie
        say(
            f"ties: {found.ties.rows:,} rows have equal scores only; {found.ties.pairs:,} of {found.ties.of_pairs:,} "
            "pairs of responses have equal scores"
        )
    _say_found("contradictions", "judgements are the opposite of earlier ones", found.contradictions)
    _bias(found)
    _agreement(found)
    if found.lost_text is not None:
        _say_found("round trip", "rows hold text that their tokens, decoded, do not", found.lost_text)


def _say_found(name: str, what: str, found: Found) -> None:
    more = ", ..." if found.count > len(found.examples) else ""
    say(f"{name}: {found.count:,} {what}{': ' if found.count else ''}{', '.join(found.examples)}{more}")


def _bias(found: DataCheck) -> None:
    bias = found.length_bias
    if bias is None:
        return
    means = f"mean length {bias.better:,.1f} of the better, {bias.worse:,.1f} of the worse responses"
    if bias.share is None:
        say(f"length bias: {means}")
        return
    share = f"{percent(bias.share.value)} (95 % interval {between(bias.share.low, bias.share.high)})"
    say(
        f"length bias: the better response is the longer one in {share} of {bias.longer + bias.shorter:,} rows; {means}"
    )


def _agreement(found: DataCheck) -> None:
    its = found.agreement
    if its is None:
        return
    observed = "" if its.observed is None else f"; two judgements of one item agree in {percent(its.observed)}"
    alpha = f"no Krippendorff's alpha: {its.note}" if its.alpha is None else f"Krippendorff's alpha {its.alpha:.3f}"
    say(
        f"annotators: {its.annotators:,} with {its.judgements:,} judgements, several on {its.items:,} items{observed}; "
        f"{alpha}"
    )


def _example(example: Example) -> None:
    say()
    say(f"{example.origin} as the model sees it, trained tokens between ⟦ and ⟧:")
    say(_cut(example.prompt))
    for segments, score in zip(example.responses, example.scores, strict=True):
        say(f"-- response with score {'none' if score is None else f'{score:g}'}")
        say(_cut("".join(f"⟦{part.text}⟧" if part.trained else part.text for part in segments)))


def _cut(text: str) -> str:
    if len(text) <= _WIDEST:
        return text
    half = _WIDEST // 2
    return f"{text[:half]} ... {len(text) - _WIDEST:,} characters ... {text[-half:]}"
