import pytest

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.call import Judgement
from groupwise.rewards.combine import Combine
from groupwise.rewards.harness import HarnessConfig, make_judge
from groupwise.rewards.working import gold_of

EXACT = {"name": "exact_answer"}
SHORT = {"name": "length", "settings": {"target": 10, "unit": "characters"}}
ROW = {"answer": "42"}


def judged(*scores):
    return [Judgement(score=score) for score in scores]


def combined(*columns, **settings):
    return [j.score for j in Combine(**settings).merge([judged(*column) for column in columns])]


def test_a_weighted_sum():
    parts = ({**EXACT, "weight": 2.0}, {**SHORT, "weight": -0.5})
    assert combined([1, 0], [0.5, 1], parts=parts) == [1.75, -0.5]


def test_a_product_raises_to_the_weight():
    parts = ({**EXACT, "weight": 1.0}, {**SHORT, "weight": 2.0})
    assert combined([1, 0, 0.5], [0.5, 1, 1], parts=parts, how="product") == [0.25, 0, 0.5]


def test_a_product_with_a_negative_part_fails():
    found = Combine(parts=(EXACT, SHORT), how="product").merge([judged(-1.0), judged(1.0)])
    assert found[0].score is None
    assert "part `exact_answer` scored -1.0; give it a `scale`" in found[0].error


def test_a_gate_that_is_shut_makes_the_whole_worth_closed():
    parts = ({**SHORT, "gate": 0.5, "weight": 0}, EXACT)
    assert combined([1, 0.5, 0.4], [1, 1, 1], parts=parts, closed=-1.0) == [1, 1, -1]


def test_scale_and_gate_look_at_the_score_as_given():
    parts = ({**EXACT, "scale": [-1, 3], "gate": -1.0},)
    assert combined([-1, 1, 3, 9], parts=parts) == [0, 0.5, 1, 1]


def test_each_part_normalized_over_its_group():
    parts = ({**EXACT, "normalize": "group"}, {**SHORT, "normalize": "group", "weight": 0.5})
    assert combined([1, 0, 0, 1], [7, 7, 7, 7], parts=parts) == pytest.approx([1, -1, -1, 1])
    assert combined([1000, 0], [0, 1], parts=parts) == pytest.approx([0.5, -0.5])


def test_what_a_part_could_not_judge_is_unjudged_and_in_no_mean():
    parts = ({**EXACT, "normalize": "group"}, SHORT)
    assert combined([1, None, 0], [0, 0, 0], parts=parts) == [1, None, -1]
    lost = Combine(parts=(EXACT, SHORT)).merge([judged(1.0), [Judgement(score=None, lost="took long")]])
    assert (lost[0].score, lost[0].lost, lost[0].parts) == (None, "took long", {"exact_answer": 1.0})


def test_steps_of_a_part_stay():
    found = Combine(parts=(EXACT,)).merge([[Judgement(score=1.0, steps=((3, 1.0),))]])
    assert found[0].steps == ((3, 1.0),)


def test_through_the_harness_with_each_parts_own_score():
    judge = make_judge("combine", {"parts": [EXACT, {**SHORT, "weight": 0.5, "label": "short"}]})
    try:
        found = judge.submit(ROW, ["42", "the answer", "41"]).result()
        measured = judge.measured()
    finally:
        judge.close()
    assert [j.score for j in found] == pytest.approx([1 + 0.5 * 0.2, 0.5, 0.1])
    assert found[0].parts == pytest.approx({"exact_answer": 1.0, "short": 0.2})
    assert measured["reward/seconds"] == pytest.approx(
        measured["reward/seconds_exact_answer"] + measured["reward/seconds_short"]
    )


def test_called_by_hand():
    assert Combine(parts=(EXACT,))(ROW, ["42", "41"]) == [
        {"exact_answer": 1.0, "score": 1.0},
        {"exact_answer": 0.0, "score": 0.0},
    ]


def test_a_part_that_fails_stops_the_run():
    judge = make_judge("combine", {"parts": [EXACT]})
    try:
        with pytest.raises(RewardError, match="which must hold the right answer"):
            judge.submit({"prompt": "?"}, ["42"]).result()
    finally:
        judge.close()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"parts": ()}, "combine.parts is empty"),
        ({"parts": (EXACT,), "how": "mean"}, "must be `sum` or `product`"),
        ({"parts": (EXACT, EXACT)}, "two are called `exact_answer`; give one of them another `label`"),
        ({"parts": ({"name": "combine"},)}, "a part of `combine` is another reward"),
        ({"parts": ({**EXACT, "scale": [1, 1]},)}, "must be \\[low, high\\], low < high"),
        ({"parts": ({**EXACT, "weigth": 1},)}, "Did you mean `weight`"),
        ({"parts": ({**EXACT, "normalize": "group"},), "how": "product"}, "needs parts from 0 up"),
    ],
)
def test_wrong_settings(settings, said):
    with pytest.raises(ConfigError, match=said):
        Combine(**settings)


def test_the_gold_answer_is_that_of_the_first_part_that_has_one_for_the_row():
    words = {"name": "contains", "settings": {"phrases": ["the answer"]}}
    judge = make_judge("combine", {"parts": [words, SHORT, EXACT]}, config=HarnessConfig(workers=0))
    gold = gold_of(judge)
    assert gold is not None
    assert gold(ROW) == "42"
    assert gold({}) is None
    assert gold_of(make_judge("combine", {"parts": [SHORT]}, config=HarnessConfig(workers=0))) is None
