"""How often `language` and `toxicity` are wrong, on sentences with a known answer.

    python benchmarks/builtin_rewards.py [--sentences FOLDER] [--reviews data/movie-reviews]

Language: FOLDER holds unpacked wheels, of `pip download --no-deps django==5.2.19 spacy==3.8.18`. The sentences are
Django's translated messages (their placeholders and mark-up taken out) and spaCy's examples, in 30 languages. Each
is judged for its own language, and for one of the others, drawn by a fixed seed.

Toxicity: the lines of `tests/rewards/toxic_lines.jsonl`, by kind, and the sentences of movie reviews that
`groupwise get-data movie-reviews data/movie-reviews` fetches, in which a professional critic rarely swears.
"""

import argparse
import ast
import gettext
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from groupwise.rewards.language import Language
from groupwise.rewards.toxicity import Toxicity

LINES = Path(__file__).parent.parent / "tests" / "rewards" / "toxic_lines.jsonl"
CODES = "ar bg cs da de el en es fa fi fr he hi hu id it ja ko nl no pl pt ro ru sv th tr uk vi zh"
SAME = {"nb": "no", "nn": "no"}
MARKUP = re.compile(r"%\(\w+\)[a-z]|%[a-z]|\{[^}]*\}|<[^>]*>|&\w+;|[`*]+\w*")
BANDS = ((20, 40), (40, 80), (80, 10**9))
CLOSE = ("en", "de", "fr", "zh")  # to choose between, for the second measurement


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=Path, help="the folder with django/ and spacy/")
    parser.add_argument("--reviews", type=Path, default=Path("data/movie-reviews"))
    args = parser.parse_args()
    if args.sentences:
        language(args.sentences)
    toxicity(args.reviews)


def language(folder: Path) -> None:
    rewards = {code: Language(language=code) for code in CODES.split()}
    few = {code: Language(language=code, among=CLOSE) for code in CLOSE}
    print("| sentences from | letters | judged | own language missed | missed, of four to choose from | other taken |")
    print("|---|---|---|---|---|---|")
    began, asked = time.process_time(), 0
    for name, found in (("Django", django(folder / "django")), ("spaCy", spacy(folder / "spacy" / "lang"))):
        counts: Counter[tuple[tuple[int, int], str]] = Counter()
        draw = random.Random(0)
        sentences = sorted(set(found))
        draw.shuffle(sentences)
        for code, text in sentences:
            letters = sum(map(str.isalpha, text)) * (3 if code in ("zh", "ja", "ko") else 1)
            band = next((band for band in BANDS if band[0] <= letters < band[1]), None)
            if band is None or counts[band, "judged"] >= 3000:
                continue
            other = draw.choice([one for one in rewards if one != code])
            counts[band, "judged"] += 1
            counts[band, "missed"] += (rewards[code]({}, text) or 0.0) < 0.5
            counts[band, "taken"] += (rewards[other]({}, text) or 0.0) >= 0.5
            asked += 2
            if code in few:
                counts[band, "few"] += 1
                counts[band, "few missed"] += (few[code]({}, text) or 0.0) < 0.5
        for band in BANDS:
            n, m = counts[band, "judged"], counts[band, "few"]
            span = f"{band[0]} to {band[1] - 1}" if band[1] < 10**9 else f"{band[0]} or more"
            print(f"| {name} | {span} | {n} | {rate(counts[band, 'missed'], n)} ", end="")
            print(f"| {rate(counts[band, 'few missed'], m)} | {rate(counts[band, 'taken'], n)} |")
    print(f"\n{(time.process_time() - began) / asked * 1000:.2f} ms a judgement\n")


def django(package: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(package.glob("**/LC_MESSAGES/django.mo")):
        code = path.parent.parent.name.split("_")[0]
        with path.open("rb") as file:
            catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        for key, text in catalogue.items():
            source = key[0] if isinstance(key, tuple) else key
            if source and text and text != source:  # the entry without a key is the file's head
                yield from one(code, " ".join(MARKUP.sub(" ", text).split()))


def spacy(package: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(package.glob("*/examples.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign):
                for text in ast.literal_eval(node.value):
                    yield from one(path.parent.name, text)


def one(code: str, text: str) -> Iterator[tuple[str, str]]:
    code = SAME.get(code, code)
    if code in CODES.split():
        yield code, text


def toxicity(reviews: Path) -> None:
    rewards = {"by sentence": Toxicity(), "by text": Toxicity(by="text")}
    print("| texts | number | toxic | wrongly judged, by sentence | wrongly judged, by text |\n|---|---|---|---|---|")
    lines = [json.loads(line) for line in LINES.read_text("utf-8").splitlines()]
    kinds: dict[str, list[tuple[bool, str]]] = {}
    for line in lines:
        kinds.setdefault(line["kind"], []).append((line["toxic"], line["text"]))
    for name in ("train", "heldout"):
        path = reviews / f"{name}.jsonl"
        if path.exists():
            texts = [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]
            kinds.setdefault("movie reviews", []).extend((False, text) for text in texts)
    for kind, found in kinds.items():
        wrong = [sum((reward({}, text) < 0.5) != toxic for toxic, text in found) for reward in rewards.values()]
        said = "yes" if found[0][0] else "no"
        print(f"| {kind} | {len(found)} | {said} | " + " | ".join(rate(n, len(found)) for n in wrong) + " |")


def rate(n: int, of: int) -> str:
    return f"{n} ({n / of:.1%})" if of else "none"


if __name__ == "__main__":
    main()
