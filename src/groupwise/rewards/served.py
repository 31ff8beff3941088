"""A reward model behind HTTP: the server that `groupwise serve-reward` starts, and what the reward `model` asks it.

POST /score   {"prompts": [text or messages, ...], "texts": [text, ...]}  ->  {"scores": [number or null, ...]}
GET  /        {"model": path}
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from groupwise.errors import GroupwiseError, RewardError
from groupwise.rewards.judging.connection import Response, Server

LONGEST = 64 * 2**20  # bytes of a request
TRIES, PAUSE_S = 3, 1.0  # of a request that met no server, and the pause before the second; it doubles

Score = Callable[[Sequence[Mapping[str, Any]], Sequence[str]], list[float | None]]


def scores_from(url: str, prompts: Sequence[Any], texts: Sequence[str], *, timeout_s: float) -> list[float | None]:
    """What the server at `url` says of these texts. Raises RewardError where it gives no scores."""
    body = json.dumps({"prompts": list(prompts), "texts": list(texts)}).encode()
    response = _asked(url, body, timeout_s)
    try:
        found = json.loads(response.body)
    except ValueError:
        found = None
    said = found.get("error", "") if isinstance(found, dict) else repr(response.body[:200])
    if response.status != 200:
        raise RewardError(f"got {response.status} {response.reason} from {url}: {said}")
    scores = found.get("scores") if isinstance(found, dict) else None
    if not isinstance(scores, list) or len(scores) != len(texts):
        raise RewardError(f"got no list of {len(texts)} `scores` from {url}: is it a server of groupwise serve-reward?")
    return scores


def score_server(score: Score, *, name: str, host: str, port: int) -> ThreadingHTTPServer:
    """A server that scores one request at a time; `serve_forever` runs it. Raises OSError for a port that is taken."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # http.server calls it so
            self._say(200, {"model": name})

        def do_POST(self) -> None:
            try:
                size = int(self.headers.get("Content-Length", ""))
            except ValueError:
                size = -1
            if not 0 <= size <= LONGEST:
                self.close_connection = True
                self._say(413, {"error": f"a request has at most {LONGEST} bytes, and says how many"})
                return
            self._say(*_answer(self.rfile.read(size), self.path, score, lock))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as its base has it
            pass

        def _say(self, status: int, said: Mapping[str, Any]) -> None:
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    return server


def _answer(body: bytes, path: str, score: Score, lock: threading.Lock) -> tuple[int, Mapping[str, Any]]:
    if path.rstrip("/") != "/score":
        return 404, {"error": f"there is no {path}: POST /score"}
    try:
        asked = json.loads(body)
        prompts, texts = asked["prompts"], asked["texts"]
        usable = isinstance(prompts, list) and isinstance(texts, list) and len(prompts) == len(texts)
        usable = usable and all(isinstance(text, str) for text in texts) and all(prompts)
    except (ValueError, KeyError, TypeError):
        usable = False
    if not usable:
        return 400, {
            "error": "`prompts` and `texts` must be lists of one length: texts, and prompts that are not empty"
        }
    try:
        with lock:
            return 200, {"scores": score([{"prompt": prompt} for prompt in prompts], texts)}
    except GroupwiseError as error:
        return 400, {"error": str(error)}


def _asked(url: str, body: bytes, timeout_s: float) -> Response:
    for left in reversed(range(TRIES)):
        try:
            return _server(url, timeout_s).post(body, {"Content-Type": "application/json"})
        except TimeoutError as error:
            raise RewardError(f"had no answer from {url} within {timeout_s:g} s: set model.timeout_s") from error
        except (OSError, HTTPException) as error:
            if not left:
                raise RewardError(
                    f"cannot reach {url} ({error}): start it with groupwise serve-reward MODEL"
                ) from error
            time.sleep(PAUSE_S * 2 ** (TRIES - 1 - left))
    raise AssertionError("unreachable")


@lru_cache(maxsize=8)
def _server(url: str, timeout_s: float) -> Server:
    return Server(url.rstrip("/") + "/score", timeout_s=timeout_s)
