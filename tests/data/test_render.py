"""Prompts and responses to token ids, with real tokenizers built on the spot."""

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from groupwise.data.render import Renderer
from groupwise.data.rows import Record
from groupwise.errors import ConfigError, DataError, ModelError
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
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>", "<s>", "</s>"])
    special = {"eos_token": "<|im_end|>", "pad_token": "<|im_end|>", **special}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    fast.chat_template = template
    return fast


def around(tokenizer, pattern):
    """The same tokenizer, adding special tokens around every text unless told not to."""
    ids = [(token, tokenizer.convert_tokens_to_ids(token)) for token in ("<s>", "</s>")]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single=pattern, special_tokens=ids)
    return tokenizer


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
        (CHATML.partition("{% if add")[0], "has no generation prompt"),
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


USER = {"role": "user", "content": "Hi"}
REPLY = {"role": "assistant", "content": "Hello"}
FEW = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
CUE = "{% if add_generation_prompt %}assistant: {% endif %}"
INST = (
    "<s>{% for m in messages %}{% if m['role'] == 'user' %}[INST] {{ m['content'] }} [/INST]"
    "{% else %} {{ m['content'] }}</s>{% endif %}{% endfor %}"
)
THINKING = CHATML.replace(
    "{{ m['content'] }}",
    "{% if m['role'] == 'assistant' and loop.last %}<think>\n\n</think>\n{% endif %}{{ m['content'] }}",
)


def test_the_templates_own_end_of_turn_ends_a_response():
    tokenizer = chat_tokenizer(eos_token="</s>", bos_token="<s>")
    renderer = Renderer(tokenizer)
    assert renderer.end_ids == set(tokenizer.convert_tokens_to_ids(["<|im_end|>", "</s>"]))
    assert text(tokenizer, renderer.completion("Hi", "Hello", score=1.0).token_ids) == "Hello<|im_end|>"


def test_given_end_tokens_end_a_response_too():
    tokenizer = chat_tokenizer(FEW.replace("\n", "<s>\n") + CUE, eos_token="</s>", unk_token="<s>")
    assert text(tokenizer, Renderer(tokenizer).completion("Hi", "Yes", score=1.0).token_ids) == "Yes<s>\n</s>"
    renderer = Renderer(tokenizer, end_ids=[tokenizer.convert_tokens_to_ids("<s>")])
    assert text(tokenizer, renderer.completion("Hi", "Yes", score=1.0).token_ids) == "Yes<s>"


def test_a_template_without_an_end_token_gets_one():
    tokenizer = chat_tokenizer(FEW + CUE)
    renderer = Renderer(tokenizer)
    assert text(tokenizer, renderer.prompt_ids("Hi")) == "user: Hi\nassistant: "
    completion = renderer.completion("Hi", "Hello", score=1.0)
    assert text(tokenizer, completion.token_ids) == "Hello\n<|im_end|>"
    assert completion.trained is None


def test_a_template_whose_user_turn_is_the_cue_needs_no_other():
    tokenizer = around(chat_tokenizer(INST, eos_token="</s>", bos_token="<s>"), "<s> $A")
    renderer = Renderer(tokenizer)
    assert text(tokenizer, renderer.prompt_ids("Hi")) == "<s>[INST] Hi [/INST]"  # and not <s><s>
    assert text(tokenizer, renderer.completion("Hi", "Hello", score=1.0).token_ids) == " Hello</s>"


@pytest.mark.parametrize("template", [FEW, "{% for m in messages %}{{ m['content'] }}{% endfor %}"])
def test_a_template_without_any_cue_is_refused(template):
    with pytest.raises(ModelError, match="has no generation prompt"):
        Renderer(chat_tokenizer(template))
    assert Renderer(chat_tokenizer(template), chat=False).chat is False


def test_a_template_that_hides_the_reply_is_refused():
    with pytest.raises(ModelError, match="leaves out what the assistant says"):
        Renderer(chat_tokenizer(CHATML.replace("m['content']", "m['content'] if m['role'] == 'user' else ''")))


def test_what_a_template_puts_before_the_reply_belongs_to_the_response():
    tokenizer = chat_tokenizer(THINKING)
    completion = Renderer(tokenizer).completion("Hi", "Hello", score=1.0)
    assert text(tokenizer, completion.token_ids) == "<think>\n\n</think>\nHello<|im_end|>"


def test_a_template_that_rewrites_earlier_turns_is_refused_for_several_turns():
    renderer = Renderer(chat_tokenizer(THINKING))
    with pytest.raises(ModelError, match=r"f:7: the chat template rewrites.*at character \d+ '<think>"):
        renderer.completion("Hi", (REPLY, USER, REPLY), score=1.0, origin="f:7")


def test_a_cue_that_replies_lack_still_serves_prompts_to_sample_from():
    tokenizer = chat_tokenizer(CHATML.replace("assistant\n{% endif", "assistant\n<think>\n{% endif"))
    renderer = Renderer(tokenizer)
    assert text(tokenizer, renderer.prompt_ids("Hi")).endswith("assistant\n<think>\n")
    with pytest.raises(ModelError, match="rewrites what stands before a response"):
        renderer.completion("Hi", "Hello", score=1.0)


def test_messages_that_the_template_refuses_are_named():
    alternate = "{% if messages[0]['role'] != 'user' %}{{ raise_exception('user first') }}{% endif %}" + CHATML
    with pytest.raises(DataError, match=r"f:4: the chat template refuses these messages \(user first\)"):
        Renderer(chat_tokenizer(alternate)).prompt_ids(({"role": "system", "content": "x"}, USER), "f:4")


@pytest.mark.parametrize("tokenizer", [chat_tokenizer(), chat_tokenizer(None)], ids=["chat", "plain"])
def test_an_end_token_inside_a_response_is_refused_not_cut(tokenizer):
    renderer = Renderer(tokenizer)
    with pytest.raises(DataError, match=r"f:2: the response 'Hel<\|im_end\|>lo' holds the end token `<\|im_end\|>`"):
        renderer.completion("Hi", "Hel<|im_end|>lo", score=1.0, origin="f:2")
    closed = renderer.completion("Hi", "Hello<|im_end|>", score=1.0)
    assert text(tokenizer, closed.token_ids) == "Hello<|im_end|>"  # once


def lossy_tokenizer(template=None):
    """Lower-cases, joins accents and merges digits: decoding does not give the text back, nor the tokens."""
    tokenizer = chat_tokenizer(template)
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    return tokenizer


@pytest.mark.parametrize("template", [CHATML, None], ids=["chat", "plain"])
def test_tokens_are_those_of_the_text_though_they_do_not_decode_to_it(template):
    tokenizer = lossy_tokenizer(template)
    response = "HE said \ufb01ne"
    completion = Renderer(tokenizer).completion("Hi", response, score=1.0)
    ids = tokenizer(response, add_special_tokens=False)["input_ids"]
    assert completion.token_ids == (*ids, tokenizer.eos_token_id)
    assert tokenizer.decode(ids) == "he said fine"
    assert completion.text == response


def test_a_response_without_tokens_is_refused():
    tokenizer = lossy_tokenizer()
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace("~", "")
    with pytest.raises(DataError, match=r"f:3: the response '~' has no tokens"):
        Renderer(tokenizer).completion("Hi", "~", score=1.0, origin="f:3")
    with pytest.raises(DataError, match=r"f:3: the prompt '~' has no tokens"):
        Renderer(tokenizer).prompt_ids("~", "f:3")


def test_a_plain_prompt_starts_as_the_tokenizer_starts_texts_and_does_not_end():
    tokenizer = around(chat_tokenizer(None, eos_token="</s>", bos_token="<s>"), "<s> $A </s>")
    renderer = Renderer(tokenizer)
    assert text(tokenizer, renderer.prompt_ids("Hi")) == "<s>Hi"
    assert text(tokenizer, renderer.prompt_ids("Hi</s>")).startswith("<s>Hi</s>")
    assert text(tokenizer, renderer.completion("Hi", " you", score=1.0).token_ids) == " you</s>"


@pytest.mark.parametrize("template", [CHATML, None], ids=["chat", "plain"])
def test_a_text_alone_is_rendered_as_it_stands(template):
    tokenizer = around(chat_tokenizer(template, eos_token="</s>", bos_token="<s>"), "<s> $A")
    whole = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>"
    for response in (whole, f"<s>{whole}"):
        row = Record(kind="demonstration", prompt="", responses=(response,), scores=(1.0,), row={}, origin="f:1")
        group = Renderer(tokenizer).group(row)
        assert text(tokenizer, group.prompt_ids + group.completions[0].token_ids) == (
            f"<s>{whole}" if template else f"<s>{whole}</s>"
        )


def test_a_cut_prompt_keeps_its_beginning_token_and_a_cut_response_has_no_end():
    tokenizer = around(chat_tokenizer(None, eos_token="</s>", bos_token="<s>"), "<s> $A")
    renderer = Renderer(tokenizer, max_prompt_tokens=4, max_response_tokens=3, truncate=True)
    assert text(tokenizer, renderer.prompt_ids("abcdef")) == "<s>def"
    assert text(tokenizer, renderer.completion("x", "abcdef", score=1.0).token_ids) == "abc"
    assert text(tokenizer, renderer.completion("x", "ab", score=1.0).token_ids) == "ab</s>"
    assert renderer.truncated == 2


def test_a_group_keeps_the_record():
    row = {"answer": "5"}
    record = Record(
        kind="candidates", prompt=(USER,), responses=("a", (REPLY,)), scores=(2.0, None), row=row, origin="f:9"
    )
    group = Renderer(chat_tokenizer()).group(record)
    assert (group.prompt, group.row, group.origin) == ((USER,), row, "f:9")
    assert [(c.score, c.text) for c in group.completions] == [(2.0, "a"), (None, "Hello")]


def test_a_reply_may_be_text_or_a_message():
    renderer = Renderer(chat_tokenizer())
    of_text, of_message = (renderer.completion("Hi", reply, score=1.0) for reply in ("Hello", (REPLY,)))
    assert of_text == of_message
    assert renderer.prompt_ids("Hi") == renderer.prompt_ids((USER,))


def test_a_response_must_be_the_assistants():
    with pytest.raises(DataError, match=r"f:1: .*must start and end with role `assistant`"):
        Renderer(chat_tokenizer()).completion("Hi", (REPLY, USER), score=1.0, origin="f:1")
    with pytest.raises(DataError, match="several messages needs a chat template"):
        Renderer(make_tokenizer()).completion("Hi", (REPLY, USER, REPLY), score=1.0)


def test_a_tokenizer_without_an_end_token_is_refused():
    with pytest.raises(ModelError, match=r"no end-of-text token: set tokenizer\.eos_token"):
        Renderer(chat_tokenizer(eos_token=None))


def test_settings_without_effect_are_refused():
    with pytest.raises(ConfigError, match="truncate = true has no effect"):
        Renderer(make_tokenizer(), truncate=True)
    with pytest.raises(ConfigError, match="max_prompt_tokens = 0"):
        Renderer(make_tokenizer(), max_prompt_tokens=0)
    with pytest.raises(ModelError, match=r"data\.system needs a chat template"):
        Renderer(make_tokenizer(), system="Be kind")
    with pytest.raises(DataError, match=r"f:1: data\.system has no effect on a row of plain `text`"):
        Renderer(chat_tokenizer(), system="Be kind").prompt_ids("", "f:1")


def test_unknown_characters_are_counted_unless_the_token_has_another_use():
    renderer = Renderer(make_tokenizer())
    renderer.prompt_ids("1ä")
    renderer.completion("1", "ä", score=1.0)
    renderer.completion("1", "1", score=1.0)
    assert renderer.unknown == 2
    tokenizer = make_tokenizer()
    tokenizer.unk_token = tokenizer.eos_token  # as in GPT-2
    renderer = Renderer(tokenizer)
    renderer.completion("1", "1", score=1.0)
    assert renderer.unknown == 0
