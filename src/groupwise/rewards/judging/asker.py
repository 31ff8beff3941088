"""Questions asked side by side, each until it has a verdict or cannot have one."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from groupwise.errors import RewardError
from groupwise.rewards.judging.client import Client, Unjudged
from groupwise.rewards.judging.endpoint import Endpoint
from groupwise.rewards.judging.prompts import Question, Verdict, reminder


class Asker:
    """Asks one endpoint, `endpoint.concurrency` questions at a time, whoever brings them."""

    def __init__(self, endpoint: Endpoint, *, asks: int) -> None:
        self.client, self.asks = Client(endpoint), asks
        self._threads = ThreadPoolExecutor(endpoint.concurrency, thread_name_prefix="judge")

    def verdicts(self, questions: Sequence[Question]) -> list[Verdict | None]:
        """A verdict a question, None where there was none; equal questions are asked once.

        Raises RewardError where no question can have one.
        """
        try:
            asked = {
                text: self._threads.submit(self._verdict, question)
                for text, question in {question.text: question for question in questions}.items()
            }
        except RuntimeError as error:  # no thread is started any more
            raise RewardError("was closed, or the interpreter ends: make a new judge") from error
        try:
            found = {text: one.result() for text, one in asked.items()}
        finally:
            for one in asked.values():
                one.cancel()
        return [found[question.text] for question in questions]

    def close(self) -> None:
        """End what is underway."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.client.close()

    def _verdict(self, question: Question) -> Verdict | None:
        messages = [{"role": "user", "content": question.text}]
        try:
            for _ in range(self.asks):
                reply = self.client.ask(messages)
                verdict = question.read(reply.content)
                if verdict is not None:
                    self.client.keep(messages, reply)
                    return verdict
                said = [{"role": "assistant", "content": reply.content}] if reply.content else []
                messages = [*messages[:1], *said, {"role": "user", "content": reminder(question)}]
        except Unjudged as reason:
            self.client.ledger.count(str(reason))
            return None
        self.client.ledger.count("unparsed")
        return None
