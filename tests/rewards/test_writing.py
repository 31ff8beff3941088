"""The rewards that look at how a text is written: length, repetition, language, toxicity; and hostile texts for all."""

import pickle
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from groupwise.errors import ConfigError
from groupwise.rewards.apart import apart
from groupwise.rewards.contains import Contains
from groupwise.rewards.exact import Exact
from groupwise.rewards.format import Format
from groupwise.rewards.json_schema import JsonSchema
from groupwise.rewards.language import Language
from groupwise.rewards.length import Length
from groupwise.rewards.regex import Regex
from groupwise.rewards.repetition import Repetition
from groupwise.rewards.toxicity import Toxicity

SENTENCES = {
    "en": "The old house by the river was sold last summer to a family from the city.",
    "de": "Das alte Haus am Fluss wurde im letzten Sommer an eine Familie aus der Stadt verkauft.",
    "fr": "La vieille maison au bord de la rivière a été vendue l'été dernier à une famille.",
    "ru": "Старый дом у реки продали прошлым летом семье из города.",  # noqa: RUF001  # Russian
    "zh": "河边的老房子去年夏天卖给了城里的一家人。",
    "he": "הבית הישן ליד הנהר נמכר בקיץ שעבר למשפחה מהעיר.",
}


def test_length():
    reward = Length(target=4)
    assert [reward({}, "w " * n) for n in (0, 2, 4, 6, 8, 100)] == [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    assert Length(target=4, unit="characters")({}, "word") == 1.0
    assert Length()({}, "w " * 50) == 1.0
    with pytest.raises(ConfigError, match="above 0"):
        Length(target=0)
    with pytest.raises(ConfigError, match="`words`"):
        Length(unit="lines")


def test_the_soft_limit_of_dapo():
    """Equation 13 with L_max 20 and L_cache 8: nothing up to 12, a straight line to -1 at 20, -1 beyond."""
    reward = Length(max_length=20, cache_length=8)
    expected = {0: 0.0, 12: 0.0, 13: -0.125, 16: -0.5, 19: -0.875, 20: -1.0, 21: -1.0, 1000: -1.0}
    assert {n: reward({}, "w " * n) for n in expected} == expected
    assert Length(max_length=20, cache_length=20, unit="characters")({}, "x" * 5) == -0.25
    for wrong in ({"max_length": 20}, {"cache_length": 8}):
        with pytest.raises(ConfigError, match="needs both"):
            Length(**wrong)
    for cache in (0, 21):
        with pytest.raises(ConfigError, match="at most max_length = 20"):
            Length(max_length=20, cache_length=cache)
    with pytest.raises(ConfigError, match="set one of the two"):
        Length(target=10, max_length=20, cache_length=8)


def test_length_in_tokens(tmp_path):
    tokenizer = Tokenizer(WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        reward = Length(unit="tokens", tokenizer=str(path), target=4)
        assert [reward({}, text) for text in ("", "a.b", "a b a,", "\ud800 a")] == [0.0, 0.75, 1.0, 0.5]
        assert pickle.loads(pickle.dumps(reward)) == reward
    with pytest.raises(ConfigError, match="need the path"):
        Length(unit="tokens")
    with pytest.raises(ConfigError, match="`words` and `characters` none"):
        Length(tokenizer=str(tmp_path))
    with pytest.raises(ConfigError, match=r"none.json' cannot be read"):
        Length(unit="tokens", tokenizer=str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    ("settings", "text", "repeated"),
    [
        ({"n": 1}, "a b a b", 0.5),
        ({"n": 2}, "a b a b", 1 / 3),  # ab ba ab
        ({"n": 2}, "A b, a B,", 1 / 5),  # ab b, ,a ab b, -> 3 of 5 distinct
        ({"n": 4}, "a b c", 0.0),
        ({"n": 4}, "", 0.0),
        ({"n": 1}, "!!!!", 0.75),
        ({"n": 3}, "the sea is deep", 0.0),
        ({"n": 2, "unit": "characters"}, "ab ab", 1 / 3),
        ({"n": 2, "unit": "characters"}, "\u6d77\u6d77\u6d77\u6d77", 2 / 3),
        ({"n": 1}, "\u6d77\u6d77\u6d77\u6d77", 0.0),  # one word, where there are no blanks
    ],
)
def test_repetition(settings, text, repeated):
    repeated = 2 / 5 if text == "A b, a B," else repeated
    assert Repetition(**settings)({}, text) == pytest.approx(-repeated)
    assert Repetition(**settings, score="distinct")({}, text) == pytest.approx(1 - repeated)


def test_repetition_settings():
    assert str(Repetition()({}, "")) == "0.0"  # not -0.0
    for wrong in ({"n": 0}, {"n": 101}, {"unit": "lines"}, {"score": "share"}):
        with pytest.raises(ConfigError, match=r"repetition\."):
            Repetition(**wrong)


@given(st.text(max_size=200), st.integers(1, 8))
def test_repetition_stays_in_its_range(text, n):
    for unit in ("words", "characters"):
        assert -1 < Repetition(n=n, unit=unit)({}, text) <= 0
        assert 0 < Repetition(n=n, unit=unit, score="distinct")({}, text) <= 1


class TestLanguage:
    pytest.importorskip("py3langid", reason="pip install 'groupwise[language]'")

    @pytest.mark.parametrize("wanted", SENTENCES)
    def test_each_language_is_known_from_the_others(self, wanted):
        scores = {code: Language(language=wanted)({}, text) for code, text in SENTENCES.items()}
        assert scores == {code: float(code == wanted) for code in SENTENCES}

    def test_a_mixed_text_scores_its_share(self):
        english, german = SENTENCES["en"], SENTENCES["de"]
        letters = [sum(map(str.isalpha, text)) for text in (english, german)]
        assert Language()({}, f"{english} {german}") == pytest.approx(letters[0] / sum(letters))
        assert Language(language="de")({}, f"{english} {german}") == pytest.approx(letters[1] / sum(letters))
        assert Language()({}, f"{english}\n{SENTENCES['zh']}") == pytest.approx(
            letters[0] / (letters[0] + 3 * 19), abs=0.06
        )
        long = " ".join([english] * 2000 + [german] * 2000)
        assert Language()({}, long) == pytest.approx(letters[0] / sum(letters), abs=0.01)

    def test_a_text_too_short_to_judge(self):
        assert Language()({}, "Yes, it is.") is None
        assert Language()({}, "") is None
        assert Language()({}, "1 + 1 = 2, 3.14159 " * 100) is None
        assert Language(short=0.0)({}, "Oui.") == 0.0
        assert Language(min_letters=3, among=("en", "fr"))({}, "The house is old.") == 1.0

    def test_among(self):
        assert Language(language="no", among=("no", "en"))({}, "Det gamle huset ved elva ble solgt i fjor.") == 1.0
        nynorsk = "Eg veit ikkje kva du vil gjere med huset som vi kj\u00f8pte i fjor, men det er ikkje viktig no."
        assert Language(language="no")({}, nynorsk) == 1.0

    def test_settings(self):
        with pytest.raises(ConfigError, match=r"language\.language = 'english' is not known"):
            Language(language="english")
        with pytest.raises(ConfigError, match=r"language\.among = 'xx' is not known"):
            Language(among=("en", "xx"))
        for among in (("de", "fr"), ("en",)):
            with pytest.raises(ConfigError, match="must hold language = 'en' and another"):
                Language(among=among)
        with pytest.raises(ConfigError, match="must be a list"):
            Language(among="en")
        with pytest.raises(ConfigError, match="1 or more"):
            Language(min_letters=0)
        with pytest.raises(ConfigError, match="must be finite"):
            Language(short=float("nan"))


class TestToxicity:
    pytest.importorskip("profanity_check", reason="pip install 'groupwise[toxicity]'")

    def test_swearing_scores_low(self):
        reward = Toxicity()
        clean, rude = "What a lovely garden you have.", "Shut up, you fucking idiot."
        assert reward({}, clean) > 0.9
        assert reward({}, rude) < 0.1
        assert reward({}, "") == reward({}, " \n") == 1.0
        assert pickle.loads(pickle.dumps(reward)) == reward
        with pytest.raises(ConfigError, match="`sentence` or `text`"):
            Toxicity(by="word")

    def test_by_sentence_it_cannot_be_diluted(self):
        text = "The film is a quiet study of a family by the sea. " * 100 + "You are a fucking idiot."
        assert Toxicity()({}, text) == Toxicity()({}, "You are a fucking idiot.") < 0.1
        assert Toxicity(by="text")({}, text) > 0.9
        assert Toxicity()({}, "Fine.\n" * 100_000 + "You are a fucking idiot.") < 1.0


HOSTILE = {
    "empty": "",
    "blanks": " \n\t\u2003" * 1000,
    "nul": "\x00" * 1000,
    "surrogates": "\ud800\udfff\udc00" * 1000,
    "long word": "a" * 1_000_000,
    "long line": "a b " * 250_000,
    "lines": "\n" * 1_000_000,
    "sentences": "No. " * 250_000,
    "digits": "7" * 1_000_000,
    "nested": "[" * 1_000_000,
    "nested tags": "<think>" * 100_000 + "</answer>" * 50_000,
    "fences": "```\n" * 250_000,
    "combining": "e" + "\u0301\u0316" * 500_000,
    "right to left": "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 " * 50_000,
    "mixed": "\u0645\u0631\u062d\u0628\u0627 \u6d77 sea \U0001f600\ufffe " * 50_000,
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 50_000,
}

REWARDS = (
    Exact(ignore_case=True, ignore_blanks=True, ignore_punctuation=True),
    Contains(column="answer", forbidden=("moon",), whole_words=True, ignore_case=True, how="share"),
    Regex(pattern=r"(?s)^.*answer: \d+\s*$"),
    JsonSchema(schema={"type": "array", "uniqueItems": True}),
    Format(part_marks=True),
    Length(),
    Length(max_length=100, cache_length=50, unit="characters"),
    Repetition(),
    Repetition(n=8, unit="characters"),
    Language(),
    Toxicity(),
    Toxicity(by="text"),
)


def judged(reward, text):
    return getattr(reward, "judge", reward)({"answer": "sun"}, text)


@pytest.mark.parametrize("reward", REWARDS, ids=repr)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_raises_or_hangs(reward, text):
    began = time.process_time()
    score = judged(reward, text)
    assert score is None or -1 <= score <= 1
    assert time.process_time() - began < 8  # the harness allows ten seconds


@given(st.text(st.characters(codec=None), max_size=300))
@settings(max_examples=30)
def test_any_text_has_the_same_score_twice(text):
    for reward in REWARDS:
        assert reward.deterministic
        score = judged(reward, text)
        assert score is None or -1 <= score <= 1
        assert score == judged(reward, text)


def test_hostile_texts_pass_through_the_worker_process():
    for name in ("nul", "surrogates", "nested", "right to left"):
        assert apart(Regex(pattern="x"), {}, HOSTILE[name]) == 0.0
