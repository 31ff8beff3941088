"""Prompts and responses to token ids, with real tokenizers built on the spot."""

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from groupwise.data.render import Renderer
from groupwise.data.rows import Record
from groupwise.errors import DataError, ModelError
from groupwise.models.tiny import make_tokenizer

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def chat_tokenizer(template=CHATML, **special):
    """One token a byte, and ChatML's markers; the padding token equals the end token, as in many real models."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    special = {"eos_token": "<|im_end|>", "pad_token": "<|im_end|>", **special}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    fast.chat_template = template
    return fast


def text(tokenizer, ids):
    return tokenizer.decode(ids, skip_special_tokens=False)


def test_a_chat_prompt_is_what_generation_starts_from():
    tokenizer = chat_tokenizer()
    ids = Renderer(tokenizer).prompt_ids("Hi")
    assert text(tokenizer, ids) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_a_response_ends_with_the_end_token_which_is_trained_though_it_equals_padding():
    tokenizer = chat_tokenizer()
    completion = Renderer(tokenizer).completion("Hi", "Hello", score=1.0)
    assert text(tokenizer, completion.token_ids) == "Hello<|im_end|>"
    assert completion.trained is None
    assert completion.finish_reason == "given"


def test_of_several_turns_only_the_assistants_are_trained():
    tokenizer = chat_tokenizer()
    turns = (
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "B"},
        {"role": "assistant", "content": "C"},
    )
    completion = Renderer(tokenizer).completion("Hi", turns, score=1.0)
    whole = "A<|im_end|>\n<|im_start|>user\nB<|im_end|>\n<|im_start|>assistant\nC<|im_end|>"
    assert text(tokenizer, completion.token_ids) == whole
    trained = [i for i, flag in zip(completion.token_ids, completion.trained, strict=True) if flag]
    assert text(tokenizer, trained) == "A<|im_end|>C<|im_end|>"


def test_plain_text_without_a_template():
    tokenizer = make_tokenizer()
    group = Renderer(tokenizer).group(
        Record(kind="pair", prompt="1+1=", responses=("2", "3"), scores=(1.0, 0.0), row={}, origin="f:1")
    )
    assert text(tokenizer, group.prompt_ids) == "1+1="
    assert [c.token_ids[-1] for c in group.completions] == [tokenizer.eos_token_id] * 2
    assert [c.score for c in group.completions] == [1.0, 0.0]


def test_an_empty_prompt_starts_from_a_token_all_the_same():
    tokenizer = make_tokenizer()
    assert Renderer(tokenizer).prompt_ids("") == (tokenizer.eos_token_id,)


def test_the_system_message_is_put_first_once():
    tokenizer = chat_tokenizer()
    renderer = Renderer(tokenizer, system="Be kind")
    assert text(tokenizer, renderer.prompt_ids("Hi")).startswith("<|im_start|>system\nBe kind<|im_end|>")
    own = ({"role": "system", "content": "Mine"}, {"role": "user", "content": "Hi"})
    assert "Be kind" not in text(tokenizer, renderer.prompt_ids(own))


def test_nothing_is_cut_unless_asked_for():
    tokenizer = make_tokenizer()
    with pytest.raises(DataError, match=r"f:3: the prompt has 5 tokens, data.max_prompt_tokens is 4.*truncate"):
        Renderer(tokenizer, max_prompt_tokens=4).prompt_ids("12345", "f:3")
    with pytest.raises(DataError, match=r"f:3: the response has 4 tokens, data.max_response_tokens is 2"):
        Renderer(tokenizer, max_response_tokens=2).completion("1", "234", score=1.0, origin="f:3")


def test_what_is_cut_is_counted():
    tokenizer = make_tokenizer()
    renderer = Renderer(tokenizer, max_prompt_tokens=4, max_response_tokens=2, truncate=True)
    assert text(tokenizer, renderer.prompt_ids("12345")) == "2345"
    assert text(tokenizer, renderer.completion("1", "234", score=1.0).token_ids) == "23"
    assert renderer.truncated == 2


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (CHATML.partition("{% if add")[0], "adds no generation prompt"),
        (CHATML.replace("{% for", "{{ messages|length }}{% for", 1), "rewrites what stands before a response"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
    ],
)
def test_templates_that_cannot_be_trained_with(template, message):
    with pytest.raises(ModelError, match=message):
        Renderer(chat_tokenizer(template)).completion("Hi", "Hello", score=1.0)


def test_what_needs_a_template_and_has_none():
    with pytest.raises(ModelError, match=r"data.chat = true"):
        Renderer(make_tokenizer(), chat=True)
    with pytest.raises(DataError, match="no chat template"):
        Renderer(make_tokenizer()).prompt_ids(({"role": "user", "content": "Hi"},), "f:1")
