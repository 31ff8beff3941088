"""How a language model behind an OpenAI-compatible server likes the text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from statistics import fmean
from typing import Any, ClassVar, Literal

from groupwise.errors import ConfigError, RewardError
from groupwise.rewards.judging.asker import Asker
from groupwise.rewards.judging.endpoint import Endpoint
from groupwise.rewards.judging.prompts import (
    Task,
    as_text,
    group_question,
    pair_question,
    rubric_question,
)
from groupwise.rewards.judging.tournament import earned, orders, pairs

Row = Mapping[str, Any]

RUBRIC = "Whether the answer does what was asked, is correct and complete, and says so clearly and briefly."
_FORMS = ("rubric", "pairwise", "group")
_AGAINST = ("reference", "round_robin", "random", "first")


@dataclass(frozen=True, kw_only=True)
class Judge(Endpoint):
    """A score from 0 to 1 that a language model gives, asked over `/v1/chat/completions`.

    `form` says what it is asked:
    "rubric"    to grade the answer from 0 to 10:  score = grade / 10;
    "pairwise"  which of two answers is better, once in each order:  win(i, j) = mean of 1, 0 or 1/2 for a tie.
                `against` names the opponents: "reference", the row's `reference_column`:  score_i = win(i, reference);
                "round_robin", all other candidates:  score_i = mean_j win(i, j), K (K - 1) requests;
                "random", the neighbours in a ring of the shuffled candidates, 2 K requests; "first", the first
                candidate, 2 (K - 1) requests. Equal texts tie and are not asked about;
    "group"     to grade all candidates from 0 to 10 in one prompt, shown in a shuffled order; the mean over `orders`
                orders, each second one the reverse of the one before.

    The verdict is read from the reply's last line alone. A reply without one is asked again, `asks` times in all.
    What gets no verdict has no score (None) and is counted by its reason in `usage`, as are requests, tokens and cost.

    Raises RewardEndedError, which ends a run, for a key, a model or a server that is not known and for a spent budget;
    RewardError for a row without what the judge must see. Form and position swap follow MT-Bench (arXiv:2306.05685).
    """

    form: Literal["rubric", "pairwise", "group"] = "rubric"  # what the judge is asked
    rubric: str = RUBRIC  # what counts; a row's own is taken first
    rubric_column: str = "rubric"  # the row's column with a rubric of its own, if it has one
    prompt_column: str = "prompt"  # the text or messages that were answered
    reference_column: str | None = None  # an answer that the judge sees beside the others; pairwise: the opponent
    against: Literal["reference", "round_robin", "random", "first"] = "reference"  # pairwise: the opponents
    reason: bool = True  # whether the judge says why before its verdict; without, a reply takes a few tokens
    orders: int = 1  # group: in how many orders the candidates are shown
    asks: int = 2  # how often one question is asked until there is a verdict

    in_process: ClassVar[bool] = True  # it waits for a server, with limits of its own
    overlaps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("form", _FORMS), ("against", _AGAINST)):
            if getattr(self, name) not in known:
                raise ConfigError(f"judge.{name} = {getattr(self, name)!r}, must be one of {', '.join(known)}")
        for name in ("orders", "asks"):
            if not getattr(self, name) >= 1:
                raise ConfigError(f"judge.{name} = {getattr(self, name)}, must be 1 or more")
        if not self.rubric.strip():
            raise ConfigError("judge.rubric is empty: say what counts")
        if self._by_reference and not self.reference_column:
            raise ConfigError(
                "judge.form = 'pairwise' compares with a reference: name its column in judge.reference_column, or set "
                "judge.against to `round_robin`, `random` or `first` to compare candidates with each other"
            )
        object.__setattr__(self, "asker", Asker(self, asks=self.asks))

    def __reduce__(self) -> Any:
        return _judge, ({one.name: getattr(self, one.name) for one in fields(self)},)

    @property
    def grouped(self) -> bool:
        """Whether it must see all candidates of a prompt."""
        return self.form == "group" or (self.form == "pairwise" and not self._by_reference)

    @property
    def batched(self) -> bool:
        """Whether it takes rows and texts: they are asked about side by side."""
        return not self.grouped

    @property
    def deterministic(self) -> bool:
        """Whether an equal text on an equal row may be given the score that it had."""
        return self.temperature == 0 and not self.grouped

    @property
    def usage(self) -> dict[str, float]:
        """Requests, retries, tokens, cost, and what got no verdict, since the judge was made."""
        return self._asker.client.ledger.counts()

    def __call__(self, row: Row | Sequence[Row], text: str | Sequence[str]) -> Any:
        """A score for one text; or a list of scores, for the candidates of one row, or for as many rows as texts."""
        if isinstance(row, Mapping):
            texts = [text] if isinstance(text, str) else list(text)
            found = self._scores([row] * len(texts), texts)
            return found[0] if isinstance(text, str) else found
        return self._scores(list(row), list(text))

    def close(self) -> None:
        """End what is underway; nothing can be asked from then on."""
        self._asker.close()

    @property
    def _asker(self) -> Asker:
        found: Asker = vars(self)["asker"]
        return found

    @property
    def _by_reference(self) -> bool:
        return self.form == "pairwise" and self.against == "reference"

    def _scores(self, rows: Sequence[Row], texts: Sequence[str]) -> list[float | None]:
        if not texts:
            return []
        tasks = [self._task(row) for row in rows]
        if self.form == "group":
            return self._by_group(tasks[0], texts)
        if self.form == "rubric":
            asked = [rubric_question(task, text) for task, text in zip(tasks, texts, strict=True)]
            return [None if verdict is None else verdict[0] for verdict in self._asker.verdicts(asked)]
        if self._by_reference:
            bare = [replace(task, reference="") for task in tasks]
            games = [(task, text, full.reference) for task, text, full in zip(bare, texts, tasks, strict=True)]
            return self._wins(games)
        return self._by_pairs(tasks[0], texts)

    def _by_pairs(self, task: Task, texts: Sequence[str]) -> list[float | None]:
        if len(texts) < 2:
            raise RewardError(
                f"has one candidate and against = {self.against!r}, which compares candidates: sample more of each "
                "prompt, or compare with a reference"
            )
        met = pairs(self.against, len(texts), seed=_seed(task, texts))
        wins = self._wins([(task, texts[i], texts[j]) for i, j in met])
        return earned(list(zip(met, wins, strict=True)), len(texts))

    def _wins(self, games: Sequence[tuple[Task, str, str]]) -> list[float | None]:
        """What share of each win goes to the first text: the mean of both orders, None unless both have a verdict."""
        asked = [
            question
            for task, one, other in games
            if one != other
            for question in (pair_question(task, one, other), pair_question(task, other, one))
        ]
        found = iter(self._asker.verdicts(asked))
        wins: list[float | None] = []
        for _, one, other in games:
            if one == other:
                wins.append(0.5)
                continue
            there, back = next(found), next(found)
            wins.append(None if there is None or back is None else (there[0] + 1.0 - back[0]) / 2)
        return wins

    def _by_group(self, task: Task, texts: Sequence[str]) -> list[float | None]:
        own = sorted(set(texts))  # equal texts are shown once; how they came means nothing
        shown = [[own[i] for i in order] for order in orders(len(own), self.orders, seed=_seed(task, own))]
        verdicts = self._asker.verdicts([group_question(task, order) for order in shown])
        given: dict[str, list[float]] = {text: [] for text in own}
        for order, verdict in zip(shown, verdicts, strict=True):
            for text, score in zip(order, verdict or (), strict=False):
                given[text].append(score)
        return [fmean(given[text]) if given[text] else None for text in texts]

    def _task(self, row: Row) -> Task:
        return Task(
            reason=self.reason,
            prompt=as_text(self._needed(row, self.prompt_column, "prompt_column", "what was answered")),
            rubric=str(row.get(self.rubric_column) or self.rubric),
            reference=as_text(self._needed(row, self.reference_column, "reference_column", "an answer to compare with"))
            if self.reference_column
            else "",
        )

    def _needed(self, row: Row, column: str, setting: str, what: str) -> Any:
        value = row.get(column)
        if value is None or value == "" or value == []:
            raise RewardError(
                f"found {value!r} in column `{column}`, which must hold {what}. The row has: {', '.join(row)}; set "
                f"judge.{setting} to one of them"
            )
        return value


def _judge(settings: Mapping[str, Any]) -> Judge:
    return Judge(**settings)


def _seed(task: Task, texts: Sequence[str]) -> int:
    """The same for the same candidates in whatever order, process or run."""
    whole = repr((task.prompt, sorted(texts))).encode("utf-8", "replace")
    return int.from_bytes(blake2b(whole, digest_size=8).digest(), "big")
