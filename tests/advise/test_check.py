"""What a check finds in a data set is what was put into it."""

import json

import pytest

from groupwise.advise.check import check
from groupwise.data.records import scan_records
from groupwise.data.render import Renderer
from groupwise.errors import ConfigError
from groupwise.models.load import load_tokenizer
from groupwise.models.tiny import make_tiny, make_tokenizer


@pytest.fixture(scope="module")
def renderer(tmp_path_factory):
    return Renderer(load_tokenizer(make_tiny(tmp_path_factory.mktemp("tiny") / "model")))


def checked(tmp_path, rows, **how):
    path = tmp_path / "data.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return check(scan_records(path), **how)


def pair(chosen, rejected, prompt="1+1=", **more):
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected, **more}


def thumb(label, completion="2", **more):
    return {"prompt": "1+1=", "completion": completion, "label": label, **more}


def test_a_sound_file(tmp_path):
    found = checked(tmp_path, [pair("2", "33"), pair("4", "5", "2+2=")])
    assert (found.sound, found.kind, found.rows, found.prompts, found.responses) == (True, "pair", 2, 2, 4)
    assert found.unit == "characters"
    assert (found.response_lengths.shortest, found.response_lengths.longest) == (1, 2)
    assert found.example is None
    assert found.lost_text is None


def test_every_bad_row_is_told_up_to_a_limit(tmp_path):
    rows = [pair("2", "3"), pair("2", "2"), "{broken", *[pair("", "2")] * 5]
    found = checked(tmp_path, rows, show=3)
    assert (found.sound, found.rows, found.bad_rows, found.kinds) == (False, 8, 7, {"pair": 1})
    assert [row.origin for row in found.bad] == ["data.jsonl:2", "data.jsonl:3", "data.jsonl:4"]
    assert found.bad[0].problem.startswith("`chosen` equals")
    assert "not valid JSON" in found.bad[1].problem


def test_mixed_kinds_are_counted_and_not_sound(tmp_path):
    found = checked(tmp_path, [pair("2", "3"), thumb(True), thumb(False, "3")])
    assert (found.sound, found.kind, found.kinds) == (False, "mixed", {"pair": 1, "thumb": 2})
    assert found.good == 1


def test_a_file_of_bad_rows_only(tmp_path):
    found = checked(tmp_path, ["{broken"])
    assert (found.sound, found.kind, found.prompt_lengths, found.length_bias) == (False, "none", None, None)


def test_lengths_in_tokens_and_the_share_over_the_limits(tmp_path, renderer):
    rows = [{"prompt": "1" * n + "+1=", "completion": "2"} for n in range(1, 11)]
    found = checked(tmp_path, rows, renderer=renderer, max_prompt_tokens=10, max_response_tokens=2)
    its = found.prompt_lengths
    ids = [len(renderer.prompt_ids(row["prompt"])) for row in rows]
    assert found.unit == "tokens"
    assert (its.count, its.shortest, its.longest, its.median, its.p90) == (10, ids[0], ids[9], ids[4], ids[8])
    assert its.over == sum(n > 10 for n in ids) > 0
    assert its.share_over == its.over / 10
    assert found.response_lengths.over == 0


def test_rows_that_the_tokenizer_refuses_are_bad(tmp_path, renderer):
    end = renderer.tokenizer.eos_token
    found = checked(tmp_path, [pair("2", "3"), pair(f"2{end}3", "4")], renderer=renderer)
    assert (found.bad_rows, found.kinds) == (1, {"pair": 1})
    assert found.bad[0].origin == "data.jsonl:2"
    assert found.bad[0].problem.startswith("the response")  # the origin is not said twice
    assert "end token" in found.bad[0].problem


def test_duplicates_name_the_row_that_they_repeat(tmp_path):
    rows = [pair("2", "3"), pair("3", "2"), pair("2", "3"), pair("2", "3", "1+1= "), pair("2", "3", id=7)]
    found = checked(tmp_path, rows)
    assert found.duplicates.count == 2
    assert found.duplicates.examples == (
        "data.jsonl:3 repeats data.jsonl:1",
        "data.jsonl:5 repeats data.jsonl:1",
    )


def test_two_annotators_of_one_opinion_are_no_duplicates(tmp_path):
    found = checked(tmp_path, [thumb(True, annotator=who) for who in ("x", "y", "x")])
    assert found.duplicates.examples == ("data.jsonl:3 repeats data.jsonl:1",)


def test_contradictions_of_pairs_lists_and_thumbs(tmp_path):
    found = checked(tmp_path, [pair("2", "3"), pair("3", "2"), pair("2", "3"), pair("3", "2", "another prompt")])
    assert (found.contradictions.count, found.contradictions.examples) == (
        1,
        ("data.jsonl:2 contradicts data.jsonl:1",),
    )
    lists = [{"prompt": "p", "responses": list("abc"), "scores": scores} for scores in ([1, 2, 3], [2, 1, 3])]
    assert checked(tmp_path, lists).contradictions.count == 1
    assert checked(tmp_path, [thumb(True), thumb(False), thumb(True, "3")]).contradictions.count == 1
    twice = {"prompt": "p", "responses": ["a", "b", "a"], "scores": [1, 2, 3]}
    assert checked(tmp_path, [twice]).contradictions.examples == ("data.jsonl:1 contradicts itself",)


def test_ties_within_rows(tmp_path):
    rows = [{"prompt": "p", "responses": list("abc"), "scores": s} for s in ([1, 1, 1], [1, 1, 2], [1, None, 2])]
    ties = checked(tmp_path, rows).ties
    assert (ties.rows, ties.pairs, ties.of_pairs) == (1, 4, 7)


def test_longer_answers_that_win_are_told_with_an_interval(tmp_path):
    rows = [pair("22", "3")] * 8 + [pair("2", "33")] * 2 + [pair("2", "3")]
    bias = checked(tmp_path, rows).length_bias
    assert (bias.longer, bias.shorter, bias.equal) == (8, 2, 1)
    assert bias.share.value == 0.8
    assert bias.share.low == pytest.approx(0.490, abs=1e-3)  # Wilson's, of 8 of 10
    assert bias.better == pytest.approx(19 / 11)


def test_the_length_of_thumbs_is_compared_by_label(tmp_path):
    bias = checked(tmp_path, [thumb(True, "2222"), thumb(False, "33"), thumb(False, "4444")]).length_bias
    assert (bias.share, bias.better, bias.worse) == (None, 4, 3)


def test_the_best_of_a_list_is_compared_with_its_worst(tmp_path):
    rows = [{"prompt": "p", "responses": ["aaaa", "b", "cc"], "scores": [1, 2, 3]}]
    bias = checked(tmp_path, rows).length_bias
    assert (bias.longer, bias.shorter, bias.better, bias.worse) == (0, 1, 2, 4)


def test_annotators_and_confidences_are_counted(tmp_path):
    found = checked(
        tmp_path, [thumb(True, annotator="x"), thumb(False, annotator="y"), thumb(True, "3", confidence=0.9)]
    )
    assert (found.agreement.annotators, found.agreement.items, found.agreement.observed) == (2, 1, 0.0)
    assert found.with_confidence == 1
    assert not found.sound  # some rows have one
    assert checked(tmp_path, [thumb(True, confidence=0.9), thumb(True, "3", confidence=1)]).sound
    assert checked(tmp_path, [thumb(True)]).agreement is None


CHAT = (
    "{% for m in messages %}{% if m.role == 'assistant' %}={% endif %}{{ m.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}={% endif %}"
)


def chat(template):
    tokenizer = make_tokenizer()
    tokenizer.chat_template = template
    return Renderer(tokenizer)


def test_the_shortest_row_is_shown_with_its_trained_tokens_marked(tmp_path):
    said = ["1+1", "2", "2+2", "4"]
    talk = [{"role": role, "content": text} for role, text in zip(["user", "assistant"] * 2, said, strict=True)]
    rows = [{"messages": [{**talk[0], "content": "1" * 99}, *talk[1:]]}, {"messages": talk}]
    found = checked(tmp_path, rows, renderer=chat(CHAT))
    end = make_tokenizer().eos_token
    assert (found.example.origin, found.example.prompt) == ("data.jsonl:2", f"1+1{end}=")
    (segments,) = found.example.responses
    assert [(part.text, part.trained) for part in segments] == [
        (f"2{end}", True),
        (f"2+2{end}=", False),
        (f"4{end}", True),
    ]


def test_text_that_the_tokens_do_not_hold_is_told(tmp_path, renderer):
    rows = [pair("2", "3"), pair("2", "3", "\u1e9e+1=")]  # no character of this tokenizer
    found = checked(tmp_path, rows, renderer=renderer)
    assert (found.lost_text.count, found.lost_text.examples) == (1, ("data.jsonl:2: '\u1e9e+1='",))


def test_a_template_that_changes_what_was_said_is_told(tmp_path):
    found = checked(tmp_path, [pair("2", "3", "1+1"), pair("2", "3", "1 + 1")], renderer=chat(CHAT))
    assert found.lost_text.count == 0
    squeezed = chat(CHAT.replace("m.content", "m.content | replace('1 + 1', '1+1')"))
    found = checked(tmp_path, [pair("2", "3", "1+1"), pair("2", "3", "1 + 1")], renderer=squeezed)
    assert found.lost_text.examples == ("data.jsonl:2: '1 + 1'",)


def test_limits_count_tokens(tmp_path, renderer):
    with pytest.raises(ConfigError, match="max_prompt_tokens = 3 counts tokens: name the model"):
        checked(tmp_path, [pair("2", "3")], max_prompt_tokens=3)
    with pytest.raises(ConfigError, match="max_response_tokens = 0, must be 1 or more"):
        checked(tmp_path, [pair("2", "3")], renderer=renderer, max_response_tokens=0)
