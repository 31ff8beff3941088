"""The rewards that look at a text's wording and form: exact, contains, regex, json_schema, format."""

import json
import socket

import pytest

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards import apart
from groupwise.rewards.contains import Contains
from groupwise.rewards.exact import Exact
from groupwise.rewards.format import Format
from groupwise.rewards.json_schema import JsonSchema
from groupwise.rewards.regex import Regex


@pytest.mark.parametrize(
    ("settings", "text", "expected"),
    [
        ({}, "Paris", 1.0),
        ({}, "paris", 0.0),
        ({}, "Paris\n", 0.0),
        ({}, "Paris.", 0.0),
        ({}, "Paris, France", 0.0),
        ({}, "", 0.0),
        ({"ignore_case": True}, "PARIS", 1.0),
        ({"ignore_case": True}, "Paris ", 0.0),
        ({"ignore_blanks": True}, "\n Paris\t", 1.0),
        ({"ignore_blanks": True}, "Pa ris", 0.0),
        ({"ignore_punctuation": True}, "\u201cParis\u201d!", 1.0),
        ({"ignore_punctuation": True}, "$Paris", 0.0),
        ({"ignore_punctuation": True, "ignore_blanks": True, "ignore_case": True}, " - PARIS .", 1.0),
    ],
)
def test_exact(settings, text, expected):
    assert Exact(**settings)({"answer": "Paris"}, text) == expected


def test_exact_reads_what_the_column_holds():
    assert [Exact()({"answer": ["Paris", "Lutetia"]}, text) for text in ("Paris", "Lutetia", "Rome")] == [1, 1, 0]
    assert Exact(answer_column="n")({"n": 7}, "7") == 1.0
    assert Exact(ignore_case=True)({"answer": "STRASSE"}, "stra\u00dfe") == 1.0
    assert Exact(ignore_blanks=True)({"answer": "New York"}, "New \n York") == 1.0
    assert Exact(ignore_blanks=True)({"answer": "New York"}, "NewYork") == 0.0
    assert Exact()({"answer": " a"}, " a") == 1.0  # nothing is ignored unless asked for
    assert Exact().gold({"answer": ["Paris", "Lutetia"]}) == "Paris"
    assert Exact().gold({"prompt": "?"}) is None


@pytest.mark.parametrize("value", [None, True, "", [], ["a", ""], ["a", None], {"a": 1}, b"a"])
def test_exact_refuses_a_row_without_a_right_text(value):
    with pytest.raises(RewardError, match=r"The row has: prompt, answer; set exact\.answer_column"):
        Exact()({"prompt": "?", "answer": value}, "a")


def test_exact_refuses_an_answer_of_which_nothing_is_left():
    with pytest.raises(RewardError, match=r"nothing to compare with '\.\.\.'"):
        Exact(ignore_punctuation=True)({"answer": "..."}, "?!")


@pytest.mark.parametrize(
    ("settings", "text", "expected"),
    [
        ({"phrases": ("sun", "deep sea")}, "the deep sea, the sun", 1.0),
        ({"phrases": ("sun", "deep sea")}, "the deep, the sea, the sun", 0.0),
        ({"phrases": ("sun", "sea"), "how": "any"}, "the sea", 1.0),
        ({"phrases": ("sun", "sea"), "how": "any"}, "the sky", 0.0),
        ({"phrases": ("sun", "sea", "sky"), "how": "share"}, "sea and sky", 2 / 3),
        ({"phrases": ("art",)}, "a party", 1.0),
        ({"phrases": ("art",), "whole_words": True}, "a party", 0.0),
        ({"phrases": ("art",), "whole_words": True}, "a party of art.", 1.0),
        ({"phrases": ("art",), "whole_words": True}, "art_2", 0.0),
        ({"phrases": ("c++",), "whole_words": True}, "in c++, not c", 1.0),
        ({"phrases": ("a.c",), "whole_words": True}, "abc", 0.0),
        ({"phrases": ("Sun",)}, "the sun", 0.0),
        ({"phrases": ("Sun",), "ignore_case": True}, "the SUN", 1.0),
        ({"phrases": ("sun",), "forbidden": ("moon",)}, "sun and moon", 0.0),
        ({"phrases": ("sun",), "forbidden": ("moon",)}, "sun", 1.0),
        ({"forbidden": ("moon",)}, "", 1.0),
        ({"forbidden": ("moon", "star")}, "a star", 0.0),
        ({"phrases": ("\u05e9\u05dc\u05d5\u05dd",), "whole_words": True}, "\u05e9\u05dc\u05d5\u05dd \u05dc\u05da", 1.0),
    ],
)
def test_contains(settings, text, expected):
    assert Contains(**settings)({}, text) == pytest.approx(expected)


def test_contains_reads_a_column():
    reward = Contains(column="keywords", phrases=("sea",), forbidden=("moon",))
    assert reward({"keywords": ["sun", "sky"]}, "sea sun sky") == 1.0
    assert reward({"keywords": ["sun", "sky"]}, "sun sky") == 0.0
    assert reward({"keywords": "sun"}, "sea sun") == 1.0
    assert reward.gold({"keywords": ["sun", "sky"]}) == "sea sun sky"
    assert reward.gold({"keywords": "moonlight"}) is None
    assert Contains(phrases=("sea",)).gold({"prompt": "?"}) is None
    with pytest.raises(RewardError, match=r"The row has: prompt; set contains\.column"):
        reward({"prompt": "?"}, "sea")


def test_contains_refuses_settings_that_say_nothing():
    with pytest.raises(ConfigError, match="nothing to look for"):
        Contains()
    with pytest.raises(ConfigError, match="not empty"):
        Contains(phrases=("a", ""))
    with pytest.raises(ConfigError, match="must be a list"):
        Contains(forbidden="moon")
    with pytest.raises(ConfigError, match="`all`, `any` or `share`"):
        Contains(phrases=("a",), how="most")


def test_regex():
    reward = Regex(pattern=r"(?i)\d+ apples")
    assert [reward.judge({}, text) for text in ("I have 12 Apples.", "apples")] == [1.0, 0.0]
    whole = Regex(pattern=r"\d+", match="fullmatch")
    assert [whole.judge({}, text) for text in ("12", "12\n", " 12", "\u0661")] == [1.0, 0.0, 0.0, 1.0]
    row = Regex(column="accepted")
    assert [row.judge({"accepted": ["^a", "z$"]}, text) for text in ("ab", "yz", "b")] == [1.0, 1.0, 0.0]
    assert row.judge({"accepted": "^a"}, "ab") == 1.0


def test_regex_refuses_what_is_no_pattern():
    with pytest.raises(ConfigError, match=r"regex\.pattern = '\(a' is not a regular expression: missing \)"):
        Regex(pattern="(a")
    with pytest.raises(RewardError, match=r"found '\(a' in column `p`, which is not a regular expression"):
        Regex(column="p").judge({"p": "(a"}, "a")
    with pytest.raises(RewardError, match=r"The row has: prompt; set regex\.column"):
        Regex(column="p").judge({"prompt": "?"}, "a")
    with pytest.raises(ConfigError, match="set one of the two"):
        Regex()
    with pytest.raises(ConfigError, match="set one of the two"):
        Regex(pattern="a", column="p")
    with pytest.raises(ConfigError, match="`search` or `fullmatch`"):
        Regex(pattern="a", match="match")


def test_a_catastrophic_pattern_cannot_hang_a_call(monkeypatch):
    monkeypatch.setattr(apart, "TIMEOUT_S", 1.0)
    reward = Regex(pattern=r"^(a+)+$")
    assert reward({}, "aaa") == 1.0
    assert reward({}, "a" * 60 + "!") is None
    assert reward({}, "aaa!") == 0.0  # by another process
    nested = JsonSchema(schema={"type": "string", "pattern": r"^(a+)+$"})
    assert nested({}, json.dumps("a" * 60 + "!")) is None
    assert nested({}, '"aaa"') == 1.0


PERSON = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"age": 7}', 1.0),
        (' {"age": 7}\n', 1.0),
        ('{"age": -7}', 0.25),
        ('{"age": "7"}', 0.25),
        ("{}", 0.25),
        ("7", 0.25),
        ('{"age": 7', 0.0),
        ('{"age": 7,}', 0.0),
        ('{"age": 7} and more', 0.0),
        ("{'age': 7}", 0.0),
        ('{"age": NaN}', 0.0),
        ('{"age": 7, "x": NaN}', 0.0),
        ('{"age": 7, "x": -Infinity}', 0.0),
        ('{"age": 7, "x": 1e999}', 0.0),
        ('{"age": -7, "age": 7}', 0.0),
        ('{"age": 7, "x": [{"y": 1, "y": 1}]}', 0.0),
        ('{"age": 7, "x": ' + "9" * 5000 + "}", 0.0),
        ('{"age": 7, "x": "' + "y" * 200_000 + '"}', 0.0),
        ('{"age": 7, "x": ' + "[" * 98 + "]" * 98 + "}", 1.0),
        ('{"age": 7, "x": ' + "[" * 101 + "]" * 101 + "}", 0.0),
        ("[" * 500_000, 0.0),
        ('{"a":' * 100_000, 0.0),
        ("", 0.0),
        ('Here:\n```json\n{"age": 7}\n```\nDone.', 1.0),
        ('```json\n{"age": -1}\n```\nno:\n```\n{"age": 7}\n```', 1.0),
        ('```json\n{"age": 7}\n```\nno:\n```\n{"age": -1}\n```', 0.25),
        ('```json\n{"age": 7}', 1.0),
        ('```json\n```\n{"age": 7}', 0.0),
    ],
)
def test_json_schema(text, expected):
    assert JsonSchema(schema=PERSON, parses=0.25).judge({}, text) == expected


def test_json_schema_places():
    whole, block = JsonSchema(schema=PERSON, place="whole"), JsonSchema(schema=PERSON, place="block")
    assert [whole.judge({}, t) for t in ('{"age": 7}', '```\n{"age": 7}\n```')] == [1.0, 0.0]
    assert [block.judge({}, t) for t in ('{"age": 7}', '```\n{"age": 7}\n```')] == [0.0, 1.0]


def test_json_schema_from_a_file_and_a_row(tmp_path):
    path = tmp_path / "person.json"
    path.write_text(json.dumps(PERSON))
    assert JsonSchema(path=str(path)).judge({}, '{"age": 7}') == 1.0
    assert JsonSchema(path=str(path)).judge({}, "{}") == 0.0
    for schema in (PERSON, json.dumps(PERSON)):
        reward = JsonSchema(column="schema")
        assert [reward.judge({"schema": schema}, text) for text in ('{"age": 7}', "{}")] == [1.0, 0.0]
    for wrong in (None, 7, "{", {"type": "person"}):
        with pytest.raises(RewardError, match=r"column `schema`.*The row has: prompt, schema"):
            JsonSchema(column="schema").judge({"prompt": "?", "schema": wrong}, "{}")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "person"}, r"'person' .*\(at /type\)"),
        ({"properties": {"a": {"pattern": "(a"}}}, r"'\(a' is not a 'regex' \(at /properties/a/pattern\)"),
        ({"$schema": "http://example.org/own"}, "no known draft"),
        ({"$ref": "#/$defs/none"}, r"\$ref = '#/\$defs/none' points nowhere"),
        ({"minimum": float("nan")}, "NaN is not JSON"),
    ],
)
def test_a_bad_schema_is_found_when_the_reward_is_made(schema, said):
    with pytest.raises(ConfigError, match=r"json_schema\.schema is not a JSON Schema: .*" + said):
        JsonSchema(schema=schema)


def test_a_bad_place_for_a_schema(tmp_path):
    with pytest.raises(ConfigError, match=r"json_schema\.path = .*none\.json' is not"):
        JsonSchema(path=str(tmp_path / "none.json"))
    with pytest.raises(ConfigError, match="one of them"):
        JsonSchema()
    with pytest.raises(ConfigError, match="one of them"):
        JsonSchema(schema=PERSON, column="schema")
    with pytest.raises(ConfigError, match=r"parses = 2, must be in \[0, 1\]"):
        JsonSchema(schema=PERSON, parses=2)


def test_a_schema_is_never_fetched(monkeypatch):
    asked = []
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: asked.append(a))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: asked.append(a))
    with pytest.raises(ConfigError, match="nothing is fetched"):
        JsonSchema(schema={"properties": {"a": {"$ref": "http://127.0.0.1:9/a.json"}}})
    own = {"$id": "http://127.0.0.1:9/a.json", "$ref": "b.json"}
    with pytest.raises(RewardError, match="nothing is fetched"):
        JsonSchema(schema=own).judge({}, "1")
    assert asked == []


def test_references_inside_a_schema_and_recursion():
    tree = {"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}
    reward = JsonSchema(schema=tree)
    assert [reward.judge({}, t) for t in ("[[], [[]]]", "[[], [7]]", "[" * 90 + "]" * 90)] == [1.0, 0.0, 1.0]
    constant = {"const": {"$ref": "#/nowhere"}}  # a value, not a reference
    assert JsonSchema(schema=constant).judge({}, '{"$ref": "#/nowhere"}') == 1.0
    assert JsonSchema(schema={"multipleOf": 0.1}).judge({}, "1" + "0" * 400) == 0.0  # over a float's range


@pytest.mark.parametrize(
    ("text", "strict", "loose", "marks"),
    [
        ("<think>a</think><answer>b</answer>", 1.0, 1.0, 1.0),
        ("\n<think>a\n</think>\n\n<answer>b</answer>\n", 1.0, 1.0, 1.0),
        ("So: <think>a</think><answer>b</answer>", 0.0, 1.0, 0.75),
        ("<think>a</think> then <answer>b</answer>", 0.0, 1.0, 0.75),
        ("<answer>b</answer><think>a</think>", 0.0, 0.0, 0.75),
        ("<think>a <answer>b</answer></think>", 0.0, 0.0, 0.75),
        ("<think>a</think><answer>b</answer><answer>c</answer>", 0.0, 0.0, 0.25),
        ("<think>a</think><answer>b", 0.0, 0.0, 0.25),
        ("<think>a<answer>b</answer>", 0.0, 0.0, 0.25),
        ("<think> </think><answer>b</answer>", 0.0, 0.0, 0.25),
        ("</think>a<think><answer>b</answer>", 0.0, 0.0, 0.25),
        ("<THINK>a</THINK><answer>b</answer>", 0.0, 0.0, 0.25),
        ("b", 0.0, 0.0, 0.0),
        ("", 0.0, 0.0, 0.0),
    ],
)
def test_format(text, strict, loose, marks):
    assert Format()({}, text) == strict
    assert Format(strict=False)({}, text) == loose
    assert Format(part_marks=True)({}, text) == marks


def test_format_settings():
    assert Format(opened=True)({}, "a</think><answer>b</answer>") == 1.0
    assert Format(opened=True)({}, "<think>a</think><answer>b</answer>") == 0.0
    assert Format(tags=("answer",))({}, "<answer>b</answer>") == 1.0
    assert Format(tags=("answer",), part_marks=True)({}, "so <answer>b</answer>") == 0.5
    with pytest.raises(ConfigError, match="without < and >"):
        Format(tags=("<think>",))
    with pytest.raises(ConfigError, match="without < and >"):
        Format(tags=())
    with pytest.raises(ConfigError, match="once"):
        Format(tags=("a", "a"))
