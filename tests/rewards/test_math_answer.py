import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards import score_group
from groupwise.rewards.math_answer import MathAnswer
from groupwise.rewards.maths import by_math_verify
from groupwise.rewards.maths.steps import calculations, checked_steps

pytest.importorskip("math_verify", reason="pip install 'groupwise[math]'")

PAIRS = [json.loads(line) for line in (Path(__file__).parent / "math_pairs.jsonl").read_text("utf-8").splitlines()]


def judge(text, answer, **settings):
    return MathAnswer(**settings).judge({"answer": answer}, text)


def test_the_pairs_are_many_and_of_every_kind():
    assert sum(pair["equal"] for pair in PAIRS) >= 150
    assert sum(not pair["equal"] for pair in PAIRS) >= 150
    kinds = {pair["category"]: set() for pair in PAIRS}
    for pair in PAIRS:
        kinds[pair["category"]].add(pair["equal"])
    assert all(found == {True, False} for found in kinds.values())


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['gold']} / {pair['answer']}"[:60])
def test_pairs(pair):
    for extract, text in (("whole", "{}"), ("boxed", "So it is $\\boxed{{{}}}$."), ("auto", "The answer is {}.")):
        found = judge(text.format(pair["answer"]), pair["gold"], extract=extract)
        assert found == float(pair["equal"] and not pair.get("missed")), extract  # missed: known, and told in the guide


@pytest.mark.parametrize("gold", sorted({pair["gold"] for pair in PAIRS}))
def test_every_right_answer_is_its_own(gold):
    for extract in ("auto", "boxed", "hashes", "whole"):
        reward = MathAnswer(extract=extract)
        assert reward.judge({"answer": gold}, reward.gold({"answer": gold})) == 1.0


@pytest.mark.parametrize(
    ("extract", "text", "expected"),
    [
        ("auto", "First \\boxed{17}, no: \\boxed{18}. It was 19.", 1.0),
        ("auto", "The answer is 17.\n#### 18", 1.0),
        ("auto", "The answer is 18. I used 3 steps.", 1.0),
        ("auto", "Answer: $18$", 1.0),
        ("auto", "**Final Answer:** 18", 1.0),
        ("auto", "The final answer is $18$. I hope it is correct.", 1.0),
        ("auto", "The answer is that she makes 18 dollars a day, because 9 * 2 = 18.", 1.0),
        ("auto", "<think>It may be 17. The answer is 17.</think> She makes $18 a day.", 1.0),
        ("auto", "<answer>18</answer>", 1.0),
        ("auto", "9 * 2 = 18", 1.0),
        ("auto", "18 or 19? The answer is 18 or 19.", 0.0),
        ("auto", "\\boxed{17} \\boxed{18} \\boxed{19}", 0.0),
        ("auto", "\\boxed{18", 1.0),  # not closed: the last number is read
        ("boxed", "\\boxed{18", 0.0),
        ("boxed", "\\boxed 18", 1.0),
        ("boxed", "\\fbox{18}", 1.0),
        ("boxed", "The answer is 18", 0.0),
        ("hashes", "#### 17\n#### 18\n19", 1.0),
        ("hashes", "18", 0.0),
        ("the_answer_is", "The answer is 17. So the answer is: 18", 1.0),
        ("the_answer_is", "18", 0.0),
        ("last_number", "Of 20 there are 18 left.", 1.0),
        ("last_number", "\\frac{36}{2}", 1.0),
        ("last_number", "none", 0.0),
        ("whole", " 18 ", 1.0),
        ("whole", "It is 18", 0.0),
    ],
)
def test_where_the_answer_is_looked_for(extract, text, expected):
    assert judge(text, "18", extract=extract) == expected


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("So $x = 2\\sqrt{3}$.", "\\sqrt{12}", 1.0),
        ("We get \\[ \\frac{1}{x+1} \\]", "(x+1)^{-1}", 1.0),
        ("Yes", "yes", 1.0),
        ("x = \\boxed{1} or x = \\boxed{2}", "1, 2", 1.0),
        ("x = \\boxed{1} or x = \\boxed{3}", "1, 2", 0.0),
        ("It is half of it: $\\frac12$", "0.5", 1.0),
        ("so 2\\frac{1}{2} in all", "5/2", 1.0),
    ],
)
def test_auto_without_a_mark(text, answer, expected):
    assert judge(text, answer) == expected


@pytest.mark.parametrize(
    ("text", "score"), [("No, it is not.", 1.0), ("No it is odd", 1.0), ("no one knows", 0.0), ("no or yes", 0.0)]
)
def test_yes_and_no_are_what_is_said_first(text, score):
    assert judge(text, "no", extract="whole") == score


@pytest.mark.parametrize("answer", ["18", 18, 18.0, "9*2=18.\n#### 18", "so \\boxed{18}", "$18$", "18 dollars"])
def test_right_answers_as_rows_have_them(answer):
    assert judge("\\boxed{18}", answer) == 1.0
    assert judge("\\boxed{19}", answer) == 0.0


@pytest.mark.parametrize("answer", [None, "", "  ", "####", True, float("nan"), [1, 2], {"a": 1}])
def test_a_row_without_an_answer_is_an_error(answer):
    with pytest.raises(RewardError, match="`answer`, which must hold the right answer"):
        judge("18", answer)


def test_percent():
    for percent, half, fifty in (("either", 1.0, 1.0), ("value", 1.0, 0.0), ("number", 0.0, 1.0)):
        assert judge("\\boxed{0.5}", "50\\%", percent=percent) == half
        assert judge("\\boxed{50}", "50\\%", percent=percent) == fifty
        assert judge("\\boxed{50%}", "50\\%", percent=percent) == 1.0


def test_units():
    for units, without, other in (("match", 1.0, 0.0), ("ignore", 1.0, 1.0), ("require", 0.0, 0.0)):
        assert judge("\\boxed{12}", "12 cm", units=units) == without
        assert judge("\\boxed{12 kg}", "12 cm", units=units) == other
        assert judge("\\boxed{12 centimetres}", "12 cm", units=units) == 1.0


def test_worked_out():
    for text in ("12 + 7", "\\frac{38}{2} + 0", "(19)!/18!", "\\sqrt{361}"):
        assert judge(f"\\boxed{{{text}}}", "19") == 1.0
        assert judge(f"\\boxed{{{text}}}", "19", worked_out=True) == 0.0
    for text in ("19", "19.0", "38/2", "\\frac{38}{2}", "1.9 \\times 10^1", "12 + 7 = 19", "x = 19", "19 apples"):
        assert judge(f"\\boxed{{{text}}}", "19", worked_out=True) == 1.0
    assert judge("\\boxed{\\sqrt{12}}", "2\\sqrt{3}", worked_out=True) == 1.0  # not a number's answer


@pytest.mark.parametrize(
    ("setting", "value"), [("extract", "end"), ("percent", "no"), ("units", "metric"), ("extract", None)]
)
def test_settings_are_checked(setting, value):
    with pytest.raises(ConfigError, match=rf"math_answer\.{setting} = .*, must be one of"):
        MathAnswer(**{setting: value})


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(by_math_verify.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"groupwise\[math\]"):
        MathAnswer()


HOSTILE = [
    "9^9^9^9",
    "9^{9^{9^{9}}}",
    "10000!!!",
    "((10000!)!)!",
    "(10^{10})!",
    "(1+x)^{5000}",
    "((x+y)^{999}+1)^{999}",
    "x^{9^{9^{9}}}",
    "7" * 100_000,
    "1," * 50_000,
    "9" * 900 + "^" + "9" * 90,
    "\\sqrt{" * 5_000 + "2" + "}" * 5_000,
    "\\sqrt" * 200 + "2",
    "(" * 400 + "1" + ")" * 400,
    "{" * 20 + "\\foo" + "}" * 20,
    "\\frac{1}{1+" * 200 + "1" + "}" * 200,
    "\\begin{pmatrix}" + " \\\\ ".join([" & ".join("1" * 300)] * 300) + "\\end{pmatrix}",
    "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}^{999999}",
    "\\sum_{k=1}^{1000000000} k!",
    "\\int_0^1 e^{e^{e^x}} dx",
    "\\prod_{k=1}^{1000000} k",
    "\\binom{10^9}{5\\cdot10^8}",
    "e^{e^{e^{e^{e^{e}}}}}",
    "\\sin(10^{10000})",
    "1e999999999",
    "-" * 900 + "1",
    "\\pm 1" * 100,
    "1 or " * 200,
    "(1,2)\\cup" * 100,
    "|" * 400 + "1" + "|" * 400,
    "6 " + "a " * 450 + "!",
    "½" * 900,
    "2" + "⁹" * 900,
    "\\boxed{" * 20_000,
    "answer: " * 10_000,
    "$1" * 50_000,
    "<think>" * 10_000,
    "\\" * 100_000,
    "\x00" * 1_000,
    "__import__('os').system('echo no')",
    "\ud800",
]


@pytest.mark.parametrize("gold", ["5", "x+1", "\\{1, 2\\}", "Yes", "\\sum_{k=1}^{n} k", "(0, 1] \\cup [2, 3)"])
def test_hostile_answers_are_wrong_and_cheap(gold):
    """Directly in this process: nothing here stops a judgement that does not end."""
    reward = MathAnswer()
    for text in HOSTILE:
        for wrapped in (text, f"\\boxed{{{text}}}", f"\\boxed{{{text}", f"The answer is {text}", f"#### {text}"):
            assert reward.judge({"answer": gold}, wrapped) == 0.0, wrapped[:80]


def test_a_right_answer_over_the_limits_is_compared_as_written():
    assert judge("\\boxed{9^{9^{9^9}}}", "9^{9^{9^9}}") == 1.0
    assert judge("\\boxed{ 9^{ 9^{9^9} } }", "9^{9^{9^9}}") == 1.0
    assert judge("\\boxed{10}", "9^{9^{9^9}}") is None
    assert judge("#### " + "7" * 1_100, "7" * 1_100, extract="hashes") == 1.0


@pytest.mark.parametrize("text", ["", " ", "\n", "\\boxed{}", "####", "The answer is", ".", "-", "$", "\\", "{", "}"])
def test_no_answer_is_wrong(text):
    for extract in ("auto", "boxed", "hashes", "the_answer_is", "last_number", "whole"):
        for gold in ("18", "x+1", "Yes", "\\{1, 2\\}"):
            assert judge(text, gold, extract=extract) == 0.0


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_text_gets_a_score(text):
    assert judge(text, "\\frac{22}{7}") in (0.0, 1.0)
    assert judge(text, "x^2 + 1") in (0.0, 1.0)


@given(st.text(alphabet="0123456789+-*/^()[]{}|.,=<>!% xyie\\frac\\sqrt\\pi$&_", max_size=60))
@settings(max_examples=500, deadline=None)
def test_any_signs_get_a_score(text):
    assert judge(text, "\\frac{22}{7}", extract="whole") in (0.0, 1.0)
    assert judge(text, "(1, 2)", extract="whole") in (0.0, 1.0)


@given(st.fractions(max_denominator=10_000))
@settings(deadline=None)
def test_a_fraction_in_all_its_writings(value):
    above, below = value.numerator, value.denominator
    for text in (f"{above}/{below}", f"\\frac{{{above}}}{{{below}}}", f"\\frac{{{3 * above}}}{{{3 * below}}}"):
        assert judge(text, f"{above}/{below}", extract="whole") == 1.0
        assert judge(text, f"{above + 1}/{below}", extract="whole") == 0.0
        assert judge(text, f"{above}/{below + 1}", extract="whole") == float(above == 0)


def test_called_it_judges_in_a_process_that_can_be_killed():
    reward = MathAnswer()
    assert [reward({"answer": "18"}, text) for text in ("\\boxed{18}", "\\boxed{9^9^9^9}", "")] == [1.0, 0.0, 0.0]
    with pytest.raises(RewardError, match="which must hold the right answer"):
        reward({}, "18")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("48 / 2 = <<48/2=24>>24", [True, True]),
        ("20/3 = 6.67", [True]),
        ("20/3 = 6.66", [False]),
        ("10/3 = 3", [False]),
        ("x + 3 + 4 = 7", []),
        ("3 + 4 = 7x", []),
        ("$5 + $3 = $8", [True]),
        ("3 x 4 = 12", [True]),
        ("3 \u00d7 4 = 13", [False]),
        ("\\frac{1}{2} + \\frac{1}{4} = \\frac{3}{4}", [True]),
        ("x = 3 \\times 4 = 12", [True]),
        ("20% * 50 = 10", [True]),
        ("9*2 = 18 = 19", [True, False]),
        ("1,200 + 300 = 1,500.", [True]),
        ("5 - 3 = 2, 2 + 2 = 5", [True, False]),
        ("y = 5 and 7 = 7", []),
        ("9^9^9^9 = 1", []),
        ("1+" * 300 + "1 = 301", []),
        ("10000!!! = 1", []),
    ],
)
def test_calculations(text, held):
    assert calculations(text) == held


def test_steps():
    text = "She sold 48/2 = 24 clips. It rained.\nThen 48+24 = <<48+24=73>>73 clips. It was fun.\n#### 72"
    value = judge(text, "72", steps=True)
    assert value["score"] == 1.0
    ends = [text.index("It rained"), text.index("It was"), len(text)]
    assert value["steps"] == list(zip(ends, [1.0, 0.0, 1.0], strict=True))
    (judged,) = score_group(MathAnswer(steps=True), {"answer": "72"}, [text])
    assert judged.score == 1.0
    assert judged.steps == tuple(value["steps"])
    assert judge("", "72", steps=True) == {"score": 0.0, "steps": [(1, 0.0)]}


@given(st.text(alphabet="0123456789+-*/= .\n<>abAB", max_size=200).filter(bool))
@settings(max_examples=200, deadline=None)
def test_steps_end_in_order_and_at_the_end(text):
    ends = [end for end, _ in checked_steps(text, 0.0)]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(text)
